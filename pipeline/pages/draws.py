"""Draws by lot on pages: the time of a draw in words, and as fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.models import Job
from pipeline.domain.draw import LONGEST_TO_DRAW, MOST_IN_DRAW
from pipeline.models import JobTemplate
from pipeline.pages.forms import PlainForm, TimeZoneField, local_moment
from pipeline.wording.english import format_time
from pipeline.wording.language import number as in_digits

BLANK_TIME = _("[day and time of the draw]")


def describe_time(job: Job) -> str:
    """Return the time of a job's draw in words, in the reader's zone; empty without a draw."""
    return format_time(job.draw_at, timezone.get_current_timezone()) if job.draw_at else ""


# The fields by which a form gives a job's order and the time of its draw.
DRAW_FIELDS = {"opening", "draw_day", "draw_time", "draw_zone"}


def form_values(job: Job) -> dict[str, Any]:
    """Return the time of a job's draw as initial values of its form, in the reader's zone."""
    if job.draw_at is None:
        return {"opening": "first_come"}
    here = timezone.localtime(job.draw_at)
    at = here.time().replace(second=0, microsecond=0)
    return {"opening": "lottery", "draw_day": here.date(), "draw_time": at}


def earlier_form_values(like: Job | JobTemplate) -> dict[str, Any]:
    """Return the order of an earlier job or a template as initial values of a new job's form.

    The day of a draw is left out: it has to be entered again.
    """
    if isinstance(like, Job):
        return form_values(like) | {"draw_day": None}
    return {"opening": "lottery" if like.by_lot else "first_come"}


def describe_form(given: Mapping[str, Any]) -> str:
    """Return the time of the draw that a form has, or a blank for it; empty without a draw."""
    if given.get("opening") != "lottery":
        return ""
    if given.get("draw_at"):
        return format_time(given["draw_at"], timezone.get_current_timezone())
    return str(BLANK_TIME)


class DrawTimeForm(PlainForm):
    """Time of a draw by lot."""

    draw_day = forms.DateField(
        label=_("Day of the draw"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": _("Enter a date, like 2027-01-31.")},
        help_text=format_lazy(
            # Translators: both numbers are large, as 90 days and 10,000 people.
            _(
                "At most {days} days ahead. It cannot change once the job is open. Until then"
                " nobody gets a seat, and at most {people} people can apply."
            ),
            days=LONGEST_TO_DRAW.days,
            people=in_digits(MOST_IN_DRAW),
        ),
    )
    draw_time = forms.TimeField(
        label=_("Time of the draw"),
        required=False,
        initial=time(12, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": _("Enter a time, like 09:00.")},
    )
    draw_zone = TimeZoneField(label=_("Time zone of the draw"), required=False)

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        fields: dict[str, Any] = self.fields
        limits = {"days": LONGEST_TO_DRAW.days, "count": in_digits(MOST_IN_DRAW)}
        fields["draw_day"].help_text = (
            _(
                "At most %(days)s days ahead. It cannot change once the job is open. Until then"
                " nobody gets a seat, and at most %(count)s people can apply."
            )
            % limits
        )
        fields["draw_zone"].initial = timezone.get_current_timezone_name()

    def clean(self) -> dict[str, Any]:
        """Add the time of the draw to the cleaned data; None without a draw."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        given["draw_at"] = None
        if given.setdefault("opening", "lottery") != "lottery":
            for name in DRAW_FIELDS:
                self.errors.pop(name, None)
            return given
        if self.errors.keys() & DRAW_FIELDS:
            return given
        if not given.get("draw_day") or not given.get("draw_time"):
            self.add_error("draw_day", _("Enter the day and the time of the draw."))
            return given
        zone = given.get("draw_zone") or "UTC"
        try:
            given["draw_at"] = local_moment(given["draw_day"], given["draw_time"], zone)
        except ValidationError as error:
            self.add_error("draw_day", error)
        return given


class DrawForm(DrawTimeForm):
    """Order of a new job's line: first come, first served, or a draw by lot at a time."""

    opening = forms.ChoiceField(
        label=_("Order of the line"),
        widget=forms.RadioSelect,
        initial="first_come",
        required=False,
        choices=[
            ("first_come", _("First come, first served")),
            (
                "lottery",
                _("Drawn by lot: people apply until a time, and then the order is drawn"),
            ),
        ],
    )
