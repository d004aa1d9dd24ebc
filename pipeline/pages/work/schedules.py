"""Cron expressions in words, and the rhythms of the schedule form as cron expressions.

Describes only common shapes; for any other, the page shows the next runs. A library such as
cron-descriptor could replace only `describe_cron`, since the form also needs the reverse. It also
describes `*/7` as "Every 7 minutes" and `0 25 * * *` as "At 25:00", and neither is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from uuid_utils.compat import uuid7

from applicants.forms import NameField
from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.forms import QUIET_PREVIEW, PlainForm, TimeZoneField
from pipeline.pages.work import descriptions
from pipeline.pages.work.actions import attempt_task, describe_refusal, member_actor
from pipeline.pages.work.descriptions import FORMATS, build_task_rows, describe_task_type
from pipeline.wording.english import isolated
from pipeline.work import schedules
from pipeline.work.catalog import is_switched_off
from pipeline.work.schedules import Plan
from pipeline.work.start import WorkError, find_payload_subjects, job_subject_choices
from tasks.errors import BadSchedule, TaskError
from tasks.models import Schedule
from tasks.scheduling.schedules import next_times

# Indexed by the number of the day in a cron expression.
DAYS = (
    pgettext_lazy("on", "Sunday"),
    pgettext_lazy("on", "Monday"),
    pgettext_lazy("on", "Tuesday"),
    pgettext_lazy("on", "Wednesday"),
    pgettext_lazy("on", "Thursday"),
    pgettext_lazy("on", "Friday"),
    pgettext_lazy("on", "Saturday"),
)
_EVERY_DAY = (
    gettext_lazy("Every Sunday at %(time)s"),
    gettext_lazy("Every Monday at %(time)s"),
    gettext_lazy("Every Tuesday at %(time)s"),
    gettext_lazy("Every Wednesday at %(time)s"),
    gettext_lazy("Every Thursday at %(time)s"),
    gettext_lazy("Every Friday at %(time)s"),
    gettext_lazy("Every Saturday at %(time)s"),
)

# The choices of the form.
RHYTHMS = {
    "hourly": gettext_lazy("Every hour, at the minute below"),
    "daily": gettext_lazy("Every day"),
    "workdays": gettext_lazy("Monday to Friday"),
    "weekly": gettext_lazy("Every week, on one day"),
    "monthly": gettext_lazy("Every month, on the 1st"),
    "cron": gettext_lazy("Custom (cron expression)"),
}

_WORKDAYS = "1-5"
_LAST_HOUR, _LAST_MINUTE = 23, 59


def write_cron(rhythm: str, at: time, day: int) -> str:
    """Return the five fields of a rhythm other than `cron`; hourly uses only the minute."""
    hour = "*" if rhythm == "hourly" else str(at.hour)
    date = "1" if rhythm == "monthly" else "*"
    days = {"workdays": _WORKDAYS, "weekly": str(day)}.get(rhythm, "*")
    return f"{at.minute} {hour} {date} * {days}"


def parse_rhythm(cron: str) -> tuple[str, time, int] | None:
    """Return the rhythm, time and day for which `write_cron` gives this expression, or None."""
    fields = cron.split()
    if len(fields) != 5 or not fields[0].isdigit() or int(fields[0]) > _LAST_MINUTE:
        return None
    hour = "0" if fields[1] == "*" else fields[1]
    day = int(fields[4]) if re.fullmatch("[0-6]", fields[4]) else 1
    if not hour.isdigit() or int(hour) > _LAST_HOUR:
        return None
    at = time(int(hour), int(fields[0]))
    for rhythm in RHYTHMS:
        if rhythm != "cron" and write_cron(rhythm, at, day).split() == fields:
            return rhythm, at, day
    return None


def describe_cron(cron: str) -> str:
    """Describe a schedule, like "Every Monday at 08:00"; empty for other shapes."""
    if found := parse_rhythm(cron):
        rhythm, at, day = found
        if rhythm == "hourly":
            return _every_hour(at.minute)
        words = {
            "daily": _("Every day at %(time)s"),
            "workdays": _("Monday to Friday at %(time)s"),
            "weekly": str(_EVERY_DAY[day]),
            "monthly": _("On the 1st of every month at %(time)s"),
        }
        return words[rhythm] % {"time": f"{at:%H:%M}"}
    if cron.split() == ["*"] * 5:
        return _every_minutes(1)
    step = re.fullmatch(r"\*/(\d{1,2}) \* \* \* \*", " ".join(cron.split()))
    if step and int(step[1]) and 60 % int(step[1]) == 0:
        return _every_minutes(int(step[1]))
    return ""


def _every_hour(minute: int) -> str:
    if not minute:
        return _("Every hour")
    words = ngettext(
        "Every hour, %(count)s minutes past", "Every hour, %(count)s minutes past", minute
    )
    return words % {"count": minute}


def _every_minutes(minutes: int) -> str:
    if minutes == 1:
        return _("Every minute")
    words = ngettext("Every %(count)s minute", "Every %(count)s minutes", minutes)
    return words % {"count": minutes}


# Form of a schedule.


OF_JOBS = ("report.weekly", "applications.export", "log.export")
WITH_FORMAT = OF_JOBS[1:]
TASK_TYPES = (*OF_JOBS, "demo.sleep")  # not imports: an import has one file

SLEEP_SECONDS = 5
DAY_CHOICES = [(str(n % 7), DAYS[n % 7]) for n in range(1, 8)]
CHOOSE = [("", gettext_lazy("Choose a job"))]


class ScheduleForm(PlainForm):
    """Form for what to run, how often, and what to do about missed runs."""

    schedule_id = forms.UUIDField(widget=forms.HiddenInput, required=False)
    name = NameField(
        label=pgettext_lazy("label", "Name"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    type = forms.ChoiceField(
        label=gettext_lazy("What to run"), choices=[(key, key) for key in TASK_TYPES]
    )
    job = forms.ChoiceField(label=gettext_lazy("For which job"))
    format = forms.ChoiceField(
        label=pgettext_lazy("label", "Format"), choices=list(FORMATS.items()), initial="csv"
    )
    rhythm = forms.ChoiceField(
        label=gettext_lazy("How often"), choices=list(RHYTHMS.items()), initial="weekly"
    )
    day = forms.ChoiceField(label=pgettext_lazy("label", "On"), choices=DAY_CHOICES, initial="1")
    at = forms.TimeField(
        label=pgettext_lazy("label", "At"),
        initial=time(8, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 08:00.")},
    )
    cron = forms.CharField(
        label=gettext_lazy("Cron expression"),
        max_length=100,
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month, day of the week."
            " 30 8 * * 1,4 runs every Monday and Thursday at 08:30."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    zone = TimeZoneField(label=gettext_lazy("Time zone"))
    catch_up = forms.BooleanField(
        label=gettext_lazy("Catch up on missed runs"),
        required=False,
        help_text=gettext_lazy("After an outage. Otherwise only the last one runs."),
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
        keys = [key for key in TASK_TYPES if not is_switched_off(key)]
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
        return (write_cron(rhythm, at, int(given.get("day") or 1)), zone) if at else None

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


def initial_values(schedule: Schedule) -> dict[str, Any]:
    """Return the form's values for a schedule."""
    payload = schedule.payload if isinstance(schedule.payload, dict) else {}
    found = parse_rhythm(schedule.cron)
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


def initial_new_values() -> dict[str, Any]:
    """Return the form's values for a new schedule, in the reader's time zone."""
    return {"schedule_id": uuid7(), "zone": timezone.get_current_timezone_name()}


# A company's schedules: tasks that start at set times.


SHOWN, HISTORY_SHOWN = 50, 20
NO_TIME = gettext_lazy(
    "This expression never runs. Each field must be a number, a list, a range or *."
)
NOT_OF_TIMES = ("name", "type", "job", "format")  # fields that a preview does not need


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """Schedule in a list. `when` is empty if only its cron expression describes it."""

    row: Schedule
    what: str
    when: str


@require_safe
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List the company's schedules with their next runs."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    page = schedules.read_page(
        member.company.id, after=page_urls.read_id(request, "after"), limit=SHOWN
    )
    last = page.rows[-1].id if page.more else None
    context = {
        "tab": "schedules",
        "schedules": _describe_rows(member.company.id, page.rows),
        "next_url": page_urls.change_query(request, after=last) if last else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "work/schedules.html", context)


def _describe_rows(company_id: UUID, rows: list[Schedule]) -> list[ScheduleRow]:
    subjects = find_payload_subjects(company_id, [row.payload for row in rows])
    return [
        ScheduleRow(
            row,
            descriptions.describe_task_subject(row.type_key, row.payload, subjects),
            describe_cron(row.cron),
        )
        for row in rows
    ]


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def new(request: HttpRequest) -> HttpResponse:
    """Create a schedule; preview its next five runs."""
    member = require_permission(form_member(request), Action.MANAGE_SCHEDULES)
    form = _edited_form(request, member, initial_new_values())

    def create_schedule_from_form() -> object:
        return schedules.create(
            company_id=member.company.id,
            plan=form.plan(),
            schedule_id=form.cleaned_data["schedule_id"],
            actor=member_actor(member),
        )

    if _is_saved(request, form, create_schedule_from_form):
        words = _("Schedule “%(name)s” created.")
        messages.success(request, words % {"name": isolated(form.cleaned_data["name"])})
        return redirect("schedules")
    return _render_form(request, form, None)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def edit(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Edit a schedule; preview its next five runs."""
    member = require_permission(form_member(request), Action.MANAGE_SCHEDULES)
    schedule = schedules.read(member.company.id, schedule_id)
    form = _edited_form(request, member, initial_values(schedule))

    def change_schedule_from_form() -> object:
        plan = asdict(form.plan(schedule))
        # Only what changed: a schedule whose times stay keeps its next run.
        changes = {name: value for name, value in plan.items() if value != getattr(schedule, name)}
        return schedules.change(
            company_id=member.company.id,
            schedule_id=schedule.id,
            changes=changes,
            actor=member_actor(member),
        )

    if _is_saved(request, form, change_schedule_from_form):
        words = _("Schedule “%(name)s” saved.")
        messages.success(request, words % {"name": isolated(form.cleaned_data["name"])})
        return redirect("schedules")
    return _render_form(request, form, schedule)


def _edited_form(request: HttpRequest, member: Member, initial: dict[str, Any]) -> ScheduleForm:
    jobs = job_subject_choices(member.company.id, and_this=str(initial.get("job") or ""))
    given = request.POST if request.method == "POST" else None
    return ScheduleForm(given, initial=initial, jobs=jobs, type_key=initial.get("type"))


def _is_saved(request: HttpRequest, form: ScheduleForm, save: Any) -> bool:
    """Save if the form asks for it, and return whether it was saved. Errors are on the form."""
    if request.method != "POST" or "preview" in request.POST or not form.is_valid():
        return False
    try:
        next_times(*(form.times or ("", "")), 1)
    except BadSchedule:
        form.add_error("cron", NO_TIME)
        return False
    return attempt_task(form, save)


def _render_form(
    request: HttpRequest, form: ScheduleForm, schedule: Schedule | None
) -> HttpResponse:
    asked = request.method == "POST" and "preview" in request.POST
    if asked:
        form.ignore_errors_of(NOT_OF_TIMES)
    runs: list[datetime] = []
    cron, zone = form.times or ("", "")
    try:
        runs = next_times(cron, zone) if cron else []
    except BadSchedule:
        cron, zone = "", ""
        if form.is_bound and "cron" not in form.errors:
            form.add_error("cron", NO_TIME)
    context = {
        "form": form,
        "schedule": schedule,
        "runs": runs,
        "cron": cron,
        "zone": zone,
        "when": describe_cron(cron),
        "previewed": asked and bool(runs),
    }
    is_refused = form.is_bound and not asked and bool(form.errors)
    is_refused = is_refused or (asked and not runs)
    is_refused = is_refused and request.POST.get("preview") != QUIET_PREVIEW
    return render(request, "work/schedule.html", context, status=422 if is_refused else 200)


@require_POST
@for_members(Action.MANAGE_SCHEDULES)
def switch(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Switch a schedule on or off."""
    member = require_permission(form_member(request), Action.MANAGE_SCHEDULES)
    on = request.POST.get("enabled") == "yes"
    try:
        changed = schedules.change(
            company_id=member.company.id,
            schedule_id=schedule_id,
            changes={"enabled": on},
            actor=member_actor(member),
        )
    except TaskError as error:
        messages.error(request, describe_refusal(error))
    else:
        words = (
            _("Schedule “%(name)s” switched on.") if on else _("Schedule “%(name)s” switched off.")
        )
        messages.success(request, words % {"name": isolated(changed.name)})
    return redirect("schedules")


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def delete(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a schedule."""
    member = require_permission(form_member(request), Action.MANAGE_SCHEDULES)
    schedule = schedules.read(member.company.id, schedule_id)
    if request.method == "GET":
        [shown] = _describe_rows(member.company.id, [schedule])
        return render(request, "work/schedule_delete.html", {"shown": shown})
    schedules.delete(
        company_id=member.company.id,
        schedule_id=schedule_id,
        actor=member_actor(member),
    )
    words = _("Schedule “%(name)s” deleted.")
    messages.success(request, words % {"name": isolated(schedule.name)})
    return redirect("schedules")


@require_safe
@for_members()
def show_history(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Show the last tasks of a schedule, with a button that starts it now."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    schedule = schedules.read(member.company.id, schedule_id)
    [shown] = _describe_rows(member.company.id, [schedule])
    tasks = schedules.read_tasks(schedule, limit=HISTORY_SHOWN)
    context = {
        "tab": "schedules",
        "shown": shown,
        "once": uuid4(),
        "may_run": member.may(Action.MANAGE_SCHEDULES),
        "rows": build_task_rows(member.company.id, tasks, instants.now()),
    }
    return render(request, "work/schedule_history.html", context)


@require_POST
@for_members(Action.MANAGE_SCHEDULES)
def run_now(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Start a schedule's task now."""
    member = require_permission(form_member(request), Action.MANAGE_SCHEDULES)
    try:
        once = UUID(request.POST.get("once", ""))
    except ValueError:
        once = uuid4()
    try:
        schedules.run_now(
            company_id=member.company.id,
            schedule_id=schedule_id,
            once=once,
            producer=member_actor(member),
        )
    except (TaskError, WorkError) as error:
        messages.error(request, describe_refusal(error))
    else:
        messages.success(request, _("Started. Its next time stays as it is."))
    return redirect("schedule_history", schedule_id=schedule_id)
