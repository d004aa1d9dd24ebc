"""Form that moves the clock of a sandbox."""

from __future__ import annotations

from typing import Any

from django import forms

from pipeline.pages.forms import PlainForm
from pipeline.services.advance_clock import DAY_SECONDS, MOST_SECONDS

HOUR_SECONDS = 3_600
OTHER = "other"
STEPS = [
    (str(HOUR_SECONDS), "1 hour"),
    (str(DAY_SECONDS), "1 day"),
    (str(7 * DAY_SECONDS), "7 days"),
    (OTHER, "Another number of hours"),
]
MOST_HOURS = MOST_SECONDS // HOUR_SECONDS


class ClockForm(PlainForm):
    """Form for the step of the clock: one of three, or a number of hours.

    `advance_id` is created with the empty form, so that sending the form twice moves it once.
    """

    advance_id = forms.UUIDField(widget=forms.HiddenInput)
    step = forms.ChoiceField(
        choices=STEPS, widget=forms.RadioSelect, label="How far?", initial=STEPS[0][0]
    )
    hours = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_HOURS,
        label="Hours",
        help_text=f"From 1 to {MOST_HOURS:,}, if you chose another number.",
    )

    def clean(self) -> dict[str, Any]:
        """Return the values with `seconds`."""
        given = super().clean() or {}
        if given.get("step") != OTHER:
            given["seconds"] = int(given.get("step") or 0)
        elif given.get("hours"):
            given["seconds"] = given["hours"] * HOUR_SECONDS
        elif "hours" not in self.errors:
            self.add_error("hours", f"Enter a number of hours from 1 to {MOST_HOURS:,}.")
        return given
