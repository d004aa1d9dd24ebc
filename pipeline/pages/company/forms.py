"""Forms for jobs, people and decisions."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from applicants.addresses import EMAIL_LENGTH
from applicants.forms import AddressField, NameField
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    MAX_POSITIONS,
    TITLE_LENGTH,
    ZONE_LENGTH,
    JobPosting,
)
from jobs.policies import Policy, policy_limits
from jobs.postings import (
    CURRENCIES,
    DEPARTMENT_LENGTH,
    FACTS,
    PAY_DIGITS,
    PAY_FACTS,
    PAY_PLACES,
    EmploymentType,
    PayPeriod,
    Workplace,
    countries,
    languages,
    pay_refusals,
)
from jobs.quiet_hours import quiet_hours_refusal
from pipeline.domain.states import DECISIONS, Outcome
from pipeline.models import NOTE_LENGTH, SENTENCE_LENGTH, JobTemplate
from pipeline.pages.draws import DrawForm, DrawTimeForm
from pipeline.pages.forms import LinesField, NamedCodeField, PlainForm
from pipeline.services.jobs import Posting
from pipeline.texts.fields import UnusableText
from pipeline.texts.words import check_sentence
from pipeline.wording.english import long_duration
from pipeline.wording.events import reason_word_choices, reinstatement_reason_choices
from tasks import time_zones

UNITS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
UNIT_WORDS = {
    "seconds": pgettext_lazy("unit", "seconds"),
    "minutes": pgettext_lazy("unit", "minutes"),
    "hours": pgettext_lazy("unit", "hours"),
    "days": pgettext_lazy("unit", "days"),
}
LONGEST_NUMBER = 9_999_999
LONGEST_NAME = 60  # of a country or language


def _choice_field(choices: type[TextChoices], **options: Any) -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=lambda: [("", _("Not stated")), *choices.choices], required=False, **options
    )


# Thousands are marked by one sign, and decimals by the other.
_AMOUNT = re.compile(
    r"(?P<whole>[1-9]\d{0,2}(?P<mark>[.,])\d{3}((?P=mark)\d{3})*|\d+)"
    r"((?!(?P=mark))[.,](?P<decimals>\d{1,2}))?"
)


class AmountField(forms.DecimalField):
    """An amount as people write it: 44000, 44,000, 44.000, 44 000 or 15,50."""

    def to_python(self, value: Any) -> Any:
        """Read groups of three digits as thousands, and one or two at the end as decimals."""
        entered = re.sub(r"[\s'’]", "", value) if isinstance(value, str) else value
        if isinstance(entered, str) and (parts := _AMOUNT.fullmatch(entered)):
            whole = re.sub(r"[.,]", "", parts["whole"])
            entered = f"{whole}.{parts['decimals'] or 0}"
        return super().to_python(entered)


def _amount_field(**options: Any) -> forms.DecimalField:
    return AmountField(
        required=False,
        max_digits=PAY_DIGITS,
        decimal_places=PAY_PLACES,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        **options,
    )


class PostingForm(PlainForm):
    """Posting of a job: the text that applicants read, and its facts."""

    title = NameField(label=pgettext_lazy("label", "Title"), max_length=TITLE_LENGTH)
    location = NameField(
        label=pgettext_lazy("label", "Location"), max_length=LOCATION_LENGTH, required=False
    )
    description = LinesField(
        label=pgettext_lazy("label", "Description"),
        max_length=DESCRIPTION_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy("**bold**, *italic*, - lists, # headings and links are formatted."),
    )
    employment_type = _choice_field(EmploymentType, label=gettext_lazy("Employment type"))
    workplace = _choice_field(Workplace, label=pgettext_lazy("label", "Workplace"))
    country = NamedCodeField(
        names=countries,
        wrong=gettext_lazy("Enter a country, like Netherlands or NL."),
        label=pgettext_lazy("label", "Country"),
        max_length=LONGEST_NAME,
        help_text=gettext_lazy("Search engines list a job only with it."),
    )
    department = NameField(
        label=pgettext_lazy("label", "Department"), max_length=DEPARTMENT_LENGTH, required=False
    )
    language = NamedCodeField(
        names=languages,
        wrong=gettext_lazy("Enter a language, like English or en."),
        label=gettext_lazy("Language of the description"),
        max_length=LONGEST_NAME,
    )
    pay_minimum = _amount_field(label=gettext_lazy("Pay from"))
    pay_maximum = _amount_field(label=gettext_lazy("Pay up to"))
    pay_currency = NamedCodeField(
        names=lambda: dict(zip(CURRENCIES, CURRENCIES, strict=True)),
        wrong=gettext_lazy("Enter a currency, like EUR."),
        label=gettext_lazy("Currency of the pay"),
        max_length=LONGEST_NAME,
        help_text=gettext_lazy("Three letters, like EUR."),
    )
    pay_period = _choice_field(PayPeriod, label=gettext_lazy("Period of the pay"))

    def clean(self) -> dict[str, Any]:
        """Refuse a range of pay that is not whole."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if not set(PAY_FACTS) & self.errors.keys():
            for name, wrong in pay_refusals(given).items():
                self.add_error(name, wrong)
        return given

    @property
    def has_wrong_facts(self) -> bool:
        """Tell whether a fact was refused, so that the part with the facts is open."""
        return bool(set(FACTS) & self.errors.keys())

    def posting(self) -> Posting:
        """Return the posting that was entered."""
        return Posting(**{name: self.cleaned_data[name] for name in PostingForm.base_fields})


def posting_values(posting: JobPosting | JobTemplate) -> dict[str, Any]:
    """Return a posting as initial values of its form."""
    return {name: getattr(posting, name) for name in PostingForm.base_fields}


def _number_field(**options: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"inputmode": "numeric"})
    return forms.IntegerField(widget=widget, **options)


def _unit_field(label: Any) -> forms.ChoiceField:
    return forms.ChoiceField(choices=list(UNIT_WORDS.items()), label=label)


def _clock_time_field(**options: Any) -> forms.TimeField:
    return forms.TimeField(
        required=False,
        input_formats=["%H:%M"],
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 22:00.")},
        **options,
    )


class PolicyForm(PlainForm):
    """Policy of a job. Each duration is a number and a unit."""

    window = _number_field(
        label=gettext_lazy("Time to confirm"),
        min_value=1,
        max_value=LONGEST_NUMBER,
        help_text=gettext_lazy(
            "Then the seat goes to the next in line. We recommend at least a day."
        ),
    )
    window_unit = _unit_field(gettext_lazy("Unit of: Time to confirm"))
    quiet_from = _clock_time_field(label=gettext_lazy("Quiet hours from"))
    quiet_to = _clock_time_field(label=gettext_lazy("Quiet hours to"))
    quiet_weekends = forms.BooleanField(
        label=gettext_lazy("Weekends are quiet, too"), required=False
    )
    quiet_time_zone = forms.CharField(
        label=gettext_lazy("Time zone of the job"),
        required=False,
        max_length=ZONE_LENGTH,
        help_text=gettext_lazy("For people whose own is not known, like Europe/Berlin."),
    )
    acknowledge_first_seat = forms.BooleanField(
        label=gettext_lazy("Ask people to confirm a seat that is free when they apply"),
        required=False,
        help_text=gettext_lazy("Otherwise they get it as soon as their address is verified."),
    )
    penalty_places = _number_field(
        label=gettext_lazy("Places lost after a miss"),
        min_value=policy_limits("penalty_places")[0],
        max_value=policy_limits("penalty_places")[1],
        help_text=gettext_lazy(
            "This is how many later applicants pass them; twice as many after a second miss."
        ),
    )
    max_decays = _number_field(
        label=gettext_lazy("Misses allowed"),
        min_value=policy_limits("max_decays")[0],
        max_value=policy_limits("max_decays")[1],
        required=False,
        help_text=gettext_lazy("One more miss ends the application. Leave empty for no limit."),
    )
    cooldown = _number_field(
        label=gettext_lazy("Cool-down after a miss or a pass"),
        min_value=1,
        max_value=LONGEST_NUMBER,
        help_text=gettext_lazy("So long they get no offer. They keep their place in line."),
    )
    cooldown_unit = _unit_field(gettext_lazy("Unit of: Cool-down after a miss or a pass"))
    max_passes = _number_field(
        label=gettext_lazy("Turns that a person can pass"),
        min_value=policy_limits("max_passes")[0],
        max_value=policy_limits("max_passes")[1],
        help_text=gettext_lazy("A pass is no miss, and keeps the place. 0: nobody can pass."),
    )

    def clean(self) -> dict[str, Any]:
        """Add both durations in seconds to the cleaned data."""
        super().clean()
        self._convert_to_seconds("window", "acknowledgment_window_seconds")
        self._convert_to_seconds("cooldown", "cooldown_seconds")
        self._check_quiet_hours()
        return self.cleaned_data

    def policy(self) -> Policy:
        """Return the policy that was entered."""
        return Policy(**{name: self.cleaned_data[name] for name in Policy.__dataclass_fields__})

    def _check_quiet_hours(self) -> None:
        """Put the quiet hours into the cleaned data as the policy has them."""
        given = self.cleaned_data
        zone = given["quiet_time_zone"] = given.get("quiet_time_zone") or "UTC"
        if not time_zones.is_known(zone):
            self.add_error("quiet_time_zone", _("Enter a time zone, like Europe/Berlin."))
        if {"quiet_from", "quiet_to"} & self.errors.keys():
            return
        for name in ("quiet_from", "quiet_to"):
            given[name] = None if given[name] is None else given[name].strftime("%H:%M")
        if wrong := quiet_hours_refusal(given["quiet_from"], given["quiet_to"]):
            self.add_error("quiet_to" if given["quiet_from"] else "quiet_from", wrong)

    def _convert_to_seconds(self, name: str, field: str) -> None:
        number, unit = self.cleaned_data.get(name), self.cleaned_data.get(f"{name}_unit")
        if number is None or not unit:
            return
        seconds, (low, high) = number * UNITS[unit], policy_limits(field)
        self.cleaned_data[field] = seconds
        if not low <= seconds <= high:
            words = _("Enter a time from %(least)s to %(most)s.")
            span = {"least": long_duration(low), "most": long_duration(high)}
            self.add_error(name, words % span)


def policy_values(policy: Policy) -> dict[str, Any]:
    """Return a policy as initial values of its form."""
    window, window_unit = _split_units(policy.acknowledgment_window_seconds)
    cooldown, cooldown_unit = _split_units(policy.cooldown_seconds)
    spans = {"window": window, "window_unit": window_unit}
    return policy.values() | spans | {"cooldown": cooldown, "cooldown_unit": cooldown_unit}


def _split_units(seconds: int) -> tuple[int, str]:
    """Split seconds into a whole number and the largest unit that fits."""
    unit = next(unit for unit in reversed(UNITS) if seconds % UNITS[unit] == 0)
    return seconds // UNITS[unit], unit


class CapacityForm(PlainForm):
    """Number of seats of a job."""

    capacity = _number_field(
        label=pgettext_lazy("label", "Seats"),
        min_value=1,
        max_value=MAX_CAPACITY,
        help_text=gettext_lazy("How many people you can review at once. Everyone else waits."),
    )


class PositionsForm(PlainForm):
    """Number of positions of a job; empty for a job that hires any number of people."""

    positions_to_fill = _number_field(
        label=gettext_lazy("Positions to fill"),
        min_value=1,
        max_value=MAX_POSITIONS,
        required=False,
        help_text=gettext_lazy("How many people you hire. Leave it empty for any number."),
    )


# The rules as the pages show them: an error is listed in this order, too.
RULES_IN_ORDER = (
    *("window", "window_unit", "acknowledge_first_seat"),
    *("opening", "draw_day", "draw_time", "draw_zone"),
    *("quiet_from", "quiet_to", "quiet_weekends", "quiet_time_zone"),
)


class JobForm(PostingForm, CapacityForm, PositionsForm, DrawForm, PolicyForm):
    """New job: posting, seats, order, policy and first status."""

    field_order = (*PostingForm.base_fields, "capacity", "positions_to_fill", *RULES_IN_ORDER)
    start = forms.ChoiceField(  # the buttons say it; sent without one, it is a draft
        required=False,
        widget=forms.HiddenInput,
        choices=[("OPEN", gettext_lazy("Open now")), ("DRAFT", gettext_lazy("Save as draft"))],
    )


class SettingsForm(PostingForm, PolicyForm):
    """Posting and policy of a job, saved together."""

    field_order = (*PostingForm.base_fields, *RULES_IN_ORDER)


class DraftSettingsForm(SettingsForm, DrawTimeForm):
    """Posting, policy and time of the draw of a draft whose order is drawn by lot."""


class PersonForm(PlainForm):
    """Person whom the company adds to a line."""

    name = NameField(label=pgettext_lazy("label", "Name"), max_length=PERSON_NAME_LENGTH)
    email = AddressField(
        label=gettext_lazy("Email address"),
        max_length=EMAIL_LENGTH,
        help_text=gettext_lazy("We send offers to this address, and the person signs in with it."),
    )


def _note_field() -> LinesField:
    return LinesField(
        label=pgettext_lazy("label", "Note"),
        max_length=NOTE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "Only your company can read it. It is not part of the log and is erased with the"
            " person’s data on request. Write only what you would let the person read."
        ),
    )


# What the form says instead of HIRED if this fills the last position.
HIRE_AND_CLOSE, HIRE_AND_GO_ON = "HIRED_AND_CLOSE", "HIRED_AND_GO_ON"


class DecisionForm(PlainForm):
    """Decision on an application."""

    outcome = forms.ChoiceField(
        label=pgettext_lazy("label", "Decision"),
        widget=forms.HiddenInput,  # the buttons say it
        choices=[(name, name) for name in (*DECISIONS, HIRE_AND_CLOSE, HIRE_AND_GO_ON)],
    )
    reason = forms.ChoiceField(
        label=pgettext_lazy("label", "Reason"),
        required=False,
        choices=lambda: [("", _("No reason")), *reason_word_choices()],
        help_text=gettext_lazy("The applicant can read it, and the log keeps it."),
    )
    text = LinesField(
        max_length=SENTENCE_LENGTH,
        required=False,
        label=gettext_lazy("To the applicant"),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "Goes with a rejection or removal: on their page and in the email. We fill in {name},"
            " {job} and {company}."
        ),
    )
    note = _note_field()

    def clean_text(self) -> str:
        """Refuse a field that cannot be filled in."""
        text: str = self.cleaned_data["text"]
        try:
            check_sentence(text)
        except UnusableText as error:
            raise forms.ValidationError(str(error)) from None
        return text

    def clean(self) -> dict[str, Any]:
        """Separate the outcome from what follows if this fills the last position.

        Nobody who is hired reads a sentence for others.
        """
        given = super().clean() or self.cleaned_data
        answers = {HIRE_AND_CLOSE: True, HIRE_AND_GO_ON: False}
        given["close_job"] = answers.get(given.get("outcome", ""))
        if given["close_job"] is not None:
            given["outcome"] = Outcome.HIRED.value
        if given.get("outcome") == Outcome.HIRED:
            given["text"] = ""
        return given


class ReinstatementForm(PlainForm):
    """Reason for giving a person back a place that was lost through a miss."""

    reason = forms.ChoiceField(
        label=pgettext_lazy("label", "Reason"),
        widget=forms.RadioSelect,
        choices=reinstatement_reason_choices,
        help_text=gettext_lazy("The applicant can read it. It stays in the job’s log permanently."),
    )
    note = _note_field()
