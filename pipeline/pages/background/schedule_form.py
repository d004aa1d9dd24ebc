"""Form of a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import time
from typing import Any

from django import forms
from django.utils import timezone
from uuid_utils.compat import uuid7

from applicants.forms import NameField
from pipeline.background.catalog import is_switched_off_in_catalog
from pipeline.background.schedules import Plan
from pipeline.pages.background.cron_descriptions import (
    DAYS,
    RHYTHMS,
    cron_of_rhythm,
    rhythm_of_cron,
)
from pipeline.pages.background.task_descriptions import FORMATS, describe_task_type
from pipeline.pages.forms import PlainForm, TimeZoneField
from tasks.models import Schedule

OF_JOBS = ("report.weekly", "applications.export", "log.export")
WITH_FORMAT = OF_JOBS[1:]
TASK_TYPES = (*OF_JOBS, "demo.sleep")  # not imports: an import has one file

SLEEP_SECONDS = 5
DAY_CHOICES = [(str(n % 7), DAYS[n % 7]) for n in range(1, 8)]
CHOOSE = [("", "Choose a job")]


class ScheduleForm(PlainForm):
    """Form for what to run, how often, and what to do about missed runs."""

    schedule_id = forms.UUIDField(widget=forms.HiddenInput, required=False)
    name = NameField(
        label="Name",
        max_length=100,
        help_text="For your team, like “Report for the Monday meeting”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    type = forms.ChoiceField(label="What to run", choices=[(key, key) for key in TASK_TYPES])
    job = forms.ChoiceField(label="For which job")
    format = forms.ChoiceField(label="Format", choices=list(FORMATS.items()), initial="csv")
    rhythm = forms.ChoiceField(label="How often", choices=list(RHYTHMS.items()), initial="weekly")
    day = forms.ChoiceField(label="On", choices=DAY_CHOICES, initial="1")
    at = forms.TimeField(
        label="At",
        initial=time(8, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        help_text="For an hourly schedule, only the minutes matter.",
        error_messages={"invalid": "Enter a time, like 08:00."},
    )
    cron = forms.CharField(
        label="Cron expression",
        max_length=100,
        help_text="Five fields: minute, hour, day of the month, month, day of the week."
        " For example, 30 8 * * 1,4 runs every Monday and Thursday at 08:30.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    zone = TimeZoneField(label="Time zone", help_text="Daylight saving time is respected.")
    catch_up = forms.BooleanField(
        label="Catch up on missed runs",
        required=False,
        help_text="Run every missed time later, for example after an outage. Otherwise only the"
        " last one runs, if it is recent; for reports that is enough.",
    )

    def __init__(
        self,
        *given: Any,
        jobs: Sequence[tuple[str, str]],
        type_key: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        fields: dict[str, Any] = self.fields
        keys = [key for key in TASK_TYPES if not is_switched_off_in_catalog(key)]
        if type_key and type_key not in keys:
            keys.append(type_key)
        fields["type"].choices = [(key, describe_task_type(key)) for key in keys]
        fields["job"].choices = [*CHOOSE, *jobs]
        if self.is_bound:
            # Only the fields that the task type and the rhythm need are required.
            given_type, rhythm = self.data.get("type"), self.data.get("rhythm")
            fields["job"].required = given_type in OF_JOBS
            fields["format"].required = given_type in WITH_FORMAT
            fields["day"].required = rhythm == "weekly"
            fields["at"].required = rhythm != "cron"
            fields["cron"].required = rhythm == "cron"

    @property
    def times(self) -> tuple[str, str] | None:
        """Return the cron expression and its zone, or None while these fields are invalid."""
        if self.is_bound:
            given = self.cleaned_data if self.errors is not None else {}
        else:
            given = {name: self.get_initial_for_field(f, name) for name, f in self.fields.items()}
        zone, rhythm = given.get("zone"), given.get("rhythm")
        if not zone or not rhythm:
            return None
        if rhythm == "cron":
            return (given["cron"], zone) if given.get("cron") else None
        at = given.get("at")
        return (cron_of_rhythm(rhythm, at, int(given.get("day") or 1)), zone) if at else None

    def plan(self, before: Schedule | None = None) -> Plan:
        """Return the plan. The form must be valid; values it does not ask for stay as before."""
        given, (cron, zone) = self.cleaned_data, self.times or ("", "")
        key = given["type"]
        kept = before.payload if before is not None and before.type_key == key else {}
        payload = dict(kept)
        if key in WITH_FORMAT:
            payload |= {"job_id": given["job"], "format": given["format"] or "csv"}
        elif key in OF_JOBS:
            payload |= {"job_id": given["job"], "zone": given["zone"]}
        elif key == "demo.sleep" and not kept:
            payload = {"seconds": SLEEP_SECONDS}
        return Plan(
            name=given["name"],
            cron=cron,
            zone=zone,
            type_key=key,
            type_version=before.type_version if kept and before else None,
            payload=payload,
            priority=before.priority if before else 0,
            enabled=before.enabled if before else True,
            catch_up=given["catch_up"],
        )

    def ignore_errors_of(self, names: Iterable[str]) -> None:
        """Drop the errors of these fields."""
        for name in names:
            self.errors.pop(name, None)


def initial_schedule_form(schedule: Schedule) -> dict[str, Any]:
    """Return the form's values for a schedule."""
    payload = schedule.payload if isinstance(schedule.payload, dict) else {}
    found = rhythm_of_cron(schedule.cron)
    when: dict[str, Any] = {"rhythm": "cron", "cron": schedule.cron}
    if found:
        when = {"rhythm": found[0], "at": found[1], "day": str(found[2])}
    return when | {
        "name": schedule.name,
        "type": schedule.type_key,
        "job": payload.get("job_id"),
        "format": payload.get("format"),
        "zone": schedule.zone,
        "catch_up": schedule.catch_up,
    }


def initial_new_schedule_form() -> dict[str, Any]:
    """Return the form's values for a new schedule, in the reader's time zone."""
    return {"schedule_id": uuid7(), "zone": timezone.get_current_timezone_name()}
