"""A company's schedules: tasks that start at set times."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipeline.background.errors import WorkError
from pipeline.background.schedules import (
    change_company_schedule,
    create_company_schedule,
    delete_company_schedule,
    run_schedule_now,
    schedule_of_company,
    schedules_of_company,
    tasks_of_schedule,
)
from pipeline.background.subjects import job_subject_choices, subjects_of_payloads
from pipeline.database.instants import database_now
from pipeline.domain.permissions import Action
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    member_of_sent_form,
    require_access,
)
from pipeline.pages.background import task_descriptions
from pipeline.pages.background.cron_descriptions import describe_cron
from pipeline.pages.background.schedule_form import (
    ScheduleForm,
    initial_new_schedule_form,
    initial_schedule_form,
)
from pipeline.pages.background.task_actions import (
    actor_of_task_action,
    attempt_task_action,
    words_of_refused_task_action,
)
from pipeline.pages.background.task_rows import task_rows_of
from pipeline.pages.forms import QUIET_PREVIEW
from pipeline.pages.page_urls import page_id_in_url, page_url_with
from tasks.errors import BadSchedule, TaskError
from tasks.models import Schedule
from tasks.scheduling.schedules import next_times_of_schedule

SHOWN, HISTORY_SHOWN = 50, 20
NO_TIME = "This expression never runs. Each field must be a number, a list, a range or *."
NOT_OF_TIMES = ("name", "type", "job", "format")  # fields that a preview does not need


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """Schedule in a list. `when` is empty if only its cron expression describes it."""

    row: Schedule
    what: str
    when: str


@require_safe
@for_members()
def schedules(request: HttpRequest) -> HttpResponse:
    """List the company's schedules with their next runs."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    page = schedules_of_company(
        member.company.id, after=page_id_in_url(request, "after"), limit=SHOWN
    )
    last = page.rows[-1].id if page.more else None
    context = {
        "tab": "schedules",
        "schedules": _rows_of_schedules(member.company.id, page.rows),
        "next_url": page_url_with(request, after=last) if last else "",
        "first_url": page_url_with(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "background/schedules.html", context)


def _rows_of_schedules(company_id: UUID, rows: list[Schedule]) -> list[ScheduleRow]:
    subjects = subjects_of_payloads(company_id, [row.payload for row in rows])
    return [
        ScheduleRow(
            row,
            task_descriptions.describe_task_subject(row.type_key, row.payload, subjects),
            describe_cron(row.cron),
        )
        for row in rows
    ]


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def new_schedule(request: HttpRequest) -> HttpResponse:
    """Create a schedule; preview its next five runs."""
    member = require_access(member_of_sent_form(request), Action.MANAGE_SCHEDULES)
    form = _form_of_edited_schedule(request, member, initial_new_schedule_form())

    def create_schedule_from_form() -> object:
        return create_company_schedule(
            company_id=member.company.id,
            plan=form.plan(),
            schedule_id=form.cleaned_data["schedule_id"],
            actor=actor_of_task_action(member),
        )

    if _is_schedule_saved(request, form, create_schedule_from_form):
        messages.success(request, f"Schedule “{form.cleaned_data['name']}” created.")
        return redirect("schedules")
    return _page_of_edited_schedule(request, form, None)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def edit_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Edit a schedule; preview its next five runs."""
    member = require_access(member_of_sent_form(request), Action.MANAGE_SCHEDULES)
    schedule = schedule_of_company(member.company.id, schedule_id)
    form = _form_of_edited_schedule(request, member, initial_schedule_form(schedule))

    def change_schedule_from_form() -> object:
        plan = asdict(form.plan(schedule))
        # Only what changed: a schedule whose times stay keeps its next run.
        changes = {name: value for name, value in plan.items() if value != getattr(schedule, name)}
        return change_company_schedule(
            company_id=member.company.id,
            schedule_id=schedule.id,
            changes=changes,
            actor=actor_of_task_action(member),
        )

    if _is_schedule_saved(request, form, change_schedule_from_form):
        messages.success(request, f"Schedule “{form.cleaned_data['name']}” saved.")
        return redirect("schedules")
    return _page_of_edited_schedule(request, form, schedule)


def _form_of_edited_schedule(
    request: HttpRequest, member: Member, initial: dict[str, Any]
) -> ScheduleForm:
    jobs = job_subject_choices(member.company.id, and_this=str(initial.get("job") or ""))
    given = request.POST if request.method == "POST" else None
    return ScheduleForm(given, initial=initial, jobs=jobs, type_key=initial.get("type"))


def _is_schedule_saved(request: HttpRequest, form: ScheduleForm, save: Any) -> bool:
    """Save if the form asks for it, and return whether it was saved. Errors are on the form."""
    if request.method != "POST" or "preview" in request.POST or not form.is_valid():
        return False
    try:
        next_times_of_schedule(*(form.times or ("", "")), 1)
    except BadSchedule:
        form.add_error("cron", NO_TIME)
        return False
    return attempt_task_action(form, save)


def _page_of_edited_schedule(
    request: HttpRequest, form: ScheduleForm, schedule: Schedule | None
) -> HttpResponse:
    asked = request.method == "POST" and "preview" in request.POST
    if asked:
        form.ignore_errors_of(NOT_OF_TIMES)
    runs: list[datetime] = []
    cron, zone = form.times or ("", "")
    try:
        runs = next_times_of_schedule(cron, zone) if cron else []
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
    return render(request, "background/schedule.html", context, status=422 if is_refused else 200)


@require_POST
@for_members(Action.MANAGE_SCHEDULES)
def switch_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Switch a schedule on or off."""
    member = require_access(member_of_sent_form(request), Action.MANAGE_SCHEDULES)
    on = request.POST.get("enabled") == "yes"
    try:
        changed = change_company_schedule(
            company_id=member.company.id,
            schedule_id=schedule_id,
            changes={"enabled": on},
            actor=actor_of_task_action(member),
        )
    except TaskError as error:
        messages.error(request, words_of_refused_task_action(error))
    else:
        state = "on" if on else "off"
        messages.success(request, f"Schedule “{changed.name}” switched {state}.")
    return redirect("schedules")


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_SCHEDULES)
def end_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a schedule."""
    member = require_access(member_of_sent_form(request), Action.MANAGE_SCHEDULES)
    schedule = schedule_of_company(member.company.id, schedule_id)
    if request.method == "GET":
        [shown] = _rows_of_schedules(member.company.id, [schedule])
        return render(request, "background/schedule_delete.html", {"shown": shown})
    delete_company_schedule(
        company_id=member.company.id,
        schedule_id=schedule_id,
        actor=actor_of_task_action(member),
    )
    messages.success(request, f"Schedule “{schedule.name}” deleted.")
    return redirect("schedules")


@require_safe
@for_members()
def schedule_history(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Show the last tasks of a schedule, with a button that starts it now."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    schedule = schedule_of_company(member.company.id, schedule_id)
    [shown] = _rows_of_schedules(member.company.id, [schedule])
    tasks = tasks_of_schedule(schedule, limit=HISTORY_SHOWN)
    context = {
        "tab": "schedules",
        "shown": shown,
        "once": uuid4(),
        "may_run": member.may(Action.MANAGE_SCHEDULES),
        "rows": task_rows_of(member.company.id, tasks, database_now()),
    }
    return render(request, "background/schedule_history.html", context)


@require_POST
@for_members(Action.MANAGE_SCHEDULES)
def run_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Start a schedule's task now."""
    member = require_access(member_of_sent_form(request), Action.MANAGE_SCHEDULES)
    try:
        once = UUID(request.POST.get("once", ""))
    except ValueError:
        once = uuid4()
    try:
        run_schedule_now(
            company_id=member.company.id,
            schedule_id=schedule_id,
            once=once,
            producer=actor_of_task_action(member),
        )
    except (TaskError, WorkError) as error:
        messages.error(request, words_of_refused_task_action(error))
    else:
        messages.success(request, "Started. Its next time stays as it is.")
    return redirect("schedule_history", schedule_id=schedule_id)
