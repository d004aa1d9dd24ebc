"""Draws by lot on pages: the time of a draw in words, and as fields of a form."""

from __future__ import annotations

from datetime import time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.models import Job
from pipeline.domain.draw import LONGEST_TO_DRAW, MOST_IN_DRAW
from pipeline.pages.forms import PlainForm, moment_of_form, zone_choices
from pipeline.wording.english import time_in_words


def draw_time_on_pages(job: Job) -> str:
    """Return the time of a job's draw in words, in the reader's zone; empty without a draw."""
    return time_in_words(job.draw_at, timezone.get_current_timezone()) if job.draw_at else ""


class DrawForm(PlainForm):
    """Order of a new job's line: first come, first served, or a draw by lot at a time."""

    opening = forms.ChoiceField(
        label="Order of the line",
        widget=forms.RadioSelect,
        initial="first_come",
        required=False,
        choices=[
            ("first_come", "First come, first served"),
            ("lottery", "Drawn by lot: people apply until a time, and then the order is drawn"),
        ],
    )
    draw_day = forms.DateField(
        label="Day of the draw",
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": "Enter a date, like 2027-01-31."},
        help_text=f"At most {LONGEST_TO_DRAW.days} days ahead. It cannot change once the job is"
        f" open. Until then nobody gets a seat, and at most {MOST_IN_DRAW:,} people can apply.",
    )
    draw_time = forms.TimeField(
        label="Time of the draw",
        required=False,
        initial=time(12, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": "Enter a time, like 09:00."},
    )
    draw_zone = forms.ChoiceField(label="Time zone of the draw", required=False)

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        fields: dict[str, Any] = self.fields
        fields["draw_zone"].choices = zone_choices()
        fields["draw_zone"].initial = timezone.get_current_timezone_name()

    def clean(self) -> dict[str, Any]:
        """Add the time of the draw to the cleaned data; None without a draw."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        given["draw_at"] = None
        if given.get("opening") != "lottery" or self.errors:
            return given
        if not given.get("draw_day") or not given.get("draw_time"):
            self.add_error("draw_day", "Enter the day and the time of the draw.")
            return given
        zone = given.get("draw_zone") or "UTC"
        try:
            given["draw_at"] = moment_of_form(given["draw_day"], given["draw_time"], zone)
        except ValidationError as error:
            self.add_error("draw_day", error)
        return given
