"""The forms on which a company describes its jobs and decides on people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from applicants.models import EMAIL_LENGTH
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from jobs.models import DESCRIPTION_LENGTH, LOCATION_LENGTH, MAX_CAPACITY, TITLE_LENGTH, JobPosting
from jobs.policies import Policy, limits_of
from pipeline.domain.states import DECISIONS
from pipeline.models import NOTE_LENGTH
from pipeline.pages.forms import PlainForm
from pipeline.services.lifecycle import Posting
from pipeline.wording.english import long_duration
from pipeline.wording.event_words import reason_choices

UNITS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
LONGEST_NUMBER = 9_999_999


def one_line(text: str) -> None:
    """Refuse line breaks and other characters that cannot be seen."""
    if not text.isprintable():
        raise ValidationError("This has characters that cannot be shown, such as a line break.")


class PostingForm(PlainForm):
    """What people read about a job."""

    title = forms.CharField(max_length=TITLE_LENGTH, validators=[one_line])
    location = forms.CharField(
        max_length=LOCATION_LENGTH,
        required=False,
        validators=[one_line],
        help_text="Where the work is, in any words: “Lisbon”, “Remote in Europe”.",
    )
    description = forms.CharField(
        max_length=DESCRIPTION_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Plain text. Applicants read it before they apply.",
    )

    def posting(self) -> Posting:
        """The posting as it was filled in."""
        return Posting(**{name: self.cleaned_data[name] for name in PostingForm.base_fields})


def posting_values(posting: JobPosting) -> dict[str, Any]:
    """The values of a posting, as its form shows them."""
    return {name: getattr(posting, name) for name in PostingForm.base_fields}


def _number(**options: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"inputmode": "numeric"})
    return forms.IntegerField(widget=widget, **options)


def _unit(of: str) -> forms.ChoiceField:
    choices = [(unit, unit) for unit in UNITS]
    return forms.ChoiceField(choices=choices, label=f"Unit of: {of}")


WINDOW, COOLDOWN = "Time to confirm", "Cool-down after a miss"


class PolicyForm(PlainForm):
    """A job's policy; spans of time as a number and a unit."""

    window = _number(
        label=WINDOW,
        min_value=1,
        max_value=LONGEST_NUMBER,
        help_text="How long somebody who is offered a seat has to confirm it. After that the seat"
        " goes to the next in line. From 1 minute to 30 days; a day or more is fair.",
    )
    window_unit = _unit(WINDOW)
    acknowledge_first_seat = forms.BooleanField(
        label="A seat that is free on applying must be confirmed, too",
        required=False,
        help_text="Otherwise who applies while a seat is free gets it at once, provided that the"
        " email address is proved.",
    )
    penalty_places = _number(
        label="Places lost by a miss",
        min_value=limits_of("penalty_places")[0],
        max_value=limits_of("penalty_places")[1],
        help_text="Who does not confirm in time goes behind the back of the line: so many later"
        " newcomers pass, twice as many after the second miss, and so on. 0: just the back.",
    )
    max_decays = _number(
        label="Misses that keep a place",
        min_value=limits_of("max_decays")[0],
        max_value=limits_of("max_decays")[1],
        required=False,
        help_text="The next miss after these ends the application. Leave it empty for any number.",
    )
    cooldown = _number(
        label=COOLDOWN,
        min_value=1,
        max_value=LONGEST_NUMBER,
        help_text="How long after a miss that person is not offered a seat again: the place in line"
        " stays, and seats go to the next meanwhile. From 1 second to 30 days.",
    )
    cooldown_unit = _unit(COOLDOWN)

    def clean(self) -> dict[str, Any]:
        """The fields, with both spans also in seconds."""
        super().clean()
        self._in_seconds("window", "acknowledgment_window_seconds")
        self._in_seconds("cooldown", "cooldown_seconds")
        return self.cleaned_data

    def policy(self) -> Policy:
        """The policy as it was filled in."""
        return Policy(**{name: self.cleaned_data[name] for name in Policy.__dataclass_fields__})

    def _in_seconds(self, name: str, field: str) -> None:
        number, unit = self.cleaned_data.get(name), self.cleaned_data.get(f"{name}_unit")
        if number is None or not unit:
            return
        seconds, (low, high) = number * UNITS[unit], limits_of(field)
        self.cleaned_data[field] = seconds
        if not low <= seconds <= high:
            self.add_error(name, f"Choose from {long_duration(low)} to {long_duration(high)}.")


def policy_values(policy: Policy) -> dict[str, Any]:
    """The values of a policy, as its form shows them."""
    window, window_unit = _in_units(policy.acknowledgment_window_seconds)
    cooldown, cooldown_unit = _in_units(policy.cooldown_seconds)
    spans = {"window": window, "window_unit": window_unit}
    return policy.values() | spans | {"cooldown": cooldown, "cooldown_unit": cooldown_unit}


def _in_units(seconds: int) -> tuple[int, str]:
    """A span in the largest unit that it is a whole number of."""
    unit = next(unit for unit in reversed(UNITS) if seconds % UNITS[unit] == 0)
    return seconds // UNITS[unit], unit


class CapacityForm(PlainForm):
    """How many seats a job has."""

    capacity = _number(
        label="Seats",
        min_value=1,
        max_value=MAX_CAPACITY,
        help_text=f"How many people you can look at with care at a time: 1 to {MAX_CAPACITY:,}."
        " Everybody beyond them waits in line.",
    )


class JobForm(PostingForm, CapacityForm, PolicyForm):
    """A new job."""

    field_order = ("title", "location", "description", "capacity")
    start = forms.ChoiceField(
        label="And then?",
        widget=forms.RadioSelect,
        initial="OPEN",
        choices=[
            ("OPEN", "Open it at once: everybody sees it and can apply"),
            ("DRAFT", "Keep it as a draft: only your company sees it until you open it"),
        ],
    )


class SettingsForm(PostingForm, PolicyForm):
    """A job's posting and its rules, which are saved together."""

    field_order = ("title", "location", "description")


class PersonForm(PlainForm):
    """Somebody whom the company itself puts into the line."""

    name = forms.CharField(max_length=PERSON_NAME_LENGTH, validators=[one_line])
    email = forms.EmailField(
        label="Email address",
        max_length=EMAIL_LENGTH,
        help_text="Where the person gets the offer of a seat, and signs in to see the place.",
    )


class DecisionForm(PlainForm):
    """A decision on an application."""

    outcome = forms.ChoiceField(
        label="Decision", choices=[(outcome.value, outcome.value) for outcome in DECISIONS]
    )
    reason = forms.ChoiceField(
        required=False,
        choices=[
            ("", "No reason"),
            *reason_choices(),
        ],
        help_text="Stays in the job's log for good, and the applicant reads it.",
    )
    note = forms.CharField(
        max_length=NOTE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Only your company reads it. It is not part of the log, and is erased with the"
        " person's data on request: write only what the person could read.",
    )
