"""One task of a company: its progress, history and errors, and actions on it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipeline.background.catalog import paused_catalogued_types
from pipeline.background.ownership import ids_not_owned
from pipeline.background.task_actors import names_of_task_actors
from pipeline.background.task_events import last_task_event_id, task_events_for_people
from pipeline.database.instants import database_now
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, require_access, switch_current_member
from pipeline.pages.background import task_descriptions
from pipeline.pages.background.error_details import error_details_of
from pipeline.pages.background.forms import TaskPayloadForm
from pipeline.pages.background.overview import POLL_SECONDS
from pipeline.pages.background.task_actions import (
    actor_of_task_action,
    attempt_task_action,
    words_of_refused_task_action,
)
from pipeline.pages.background.task_history import task_history_entry
from pipeline.pages.background.task_rows import task_row_changes_soon, task_rows_of
from pipeline.pages.live_page import live_page
from pipeline.pages.page_urls import page_url_with
from tasks import control, dead_letters
from tasks.errors import ConfirmationNeeded, TaskNotFound, WrongStatus
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.payloads import redact_payload

EVENTS_SHOWN = 100
CALM_POLL_SECONDS = 30  # while the task cannot change by itself


def requested_task(
    request: HttpRequest, task_id: UUID, action: Action = Action.READ_COMPANY
) -> tuple[Member, Task]:
    """Return a task of one of the member's companies. Raises Http404, PermissionDenied."""
    try:
        found = control.find_task(task_id)
    except TaskNotFound:
        raise Http404 from None
    member = switch_current_member(request, found.owner_id) if found.owner_id else None
    if member is None:
        raise Http404
    return require_access(member, action), found


@require_safe
@for_members()
def task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Show a task; the page updates itself."""
    member, found = requested_task(request, task_id)
    now = database_now()
    is_moving = task_row_changes_soon(found, now)
    step = int(now.timestamp()) // (POLL_SECONDS if is_moving else CALM_POLL_SECONDS)
    paused = paused_catalogued_types(member.company.id)
    is_held = found.type.key in paused
    state = (
        last_task_event_id(found.id),
        found.status,
        found.progress,
        is_held,
        is_moving and step,
    )
    return live_page(
        request,
        "background/task.html",
        "background/_task.html",
        build=lambda: _task_page_context(request, member, found, now, paused),
        tag=str(state),
    )


def _task_page_context(
    request: HttpRequest, member: Member, found: Task, now: datetime, paused: set[str]
) -> dict[str, Any]:
    given = request.GET.get("events", "")
    after = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None
    events = task_events_for_people(found.id, after=after, limit=EVENTS_SHOWN)
    actors = names_of_task_actors({event.actor for event in events.rows})
    last = str(events.rows[-1].id) if events.more else None
    [row] = task_rows_of(member.company.id, [found], now, paused=paused)
    is_dead, manages = found.status == Status.DEAD, member.may(Action.MANAGE_TASKS)
    return {
        "member": member,
        "task": found,
        "row": row,
        "about": task_descriptions.describe_task_type(found.type.key),
        "payload": _task_page_json(redact_payload(found.type.schema, found.payload)),
        "result": _task_page_json(found.result) if found.result is not None else "",
        "failures": error_details_of(found.errors),
        "history": [task_history_entry(event, actors) for event in events.rows],
        "next_url": page_url_with(request, events=last) if last else "",
        "first_url": page_url_with(request, events=None) if after else "",
        "poll_seconds": POLL_SECONDS if task_row_changes_soon(found, now) else CALM_POLL_SECONDS,
        "now": now,
        "may": {
            "cancel": manages and row.is_open,
            "decide": manages and is_dead,
            "run_now": manages and row.is_later and found.attempt > 0,
        },
    }


def _task_page_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


@require_POST
@for_members(Action.MANAGE_TASKS)
def task_cancel(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Cancel a waiting or running task."""
    member, found = requested_task(request, task_id, Action.MANAGE_TASKS)
    try:
        now = control.cancel(
            found.id, actor=actor_of_task_action(member), owner_id=member.company.id
        )
    except WrongStatus as error:
        messages.error(request, words_of_refused_task_action(error))
    else:
        stopped = "Task cancelled." if now is Status.CANCELLED else "You asked this task to stop."
        messages.success(request, stopped)
    return redirect("work") if "back" in request.POST else redirect("task", task_id=found.id)


@require_POST
@for_members(Action.MANAGE_TASKS)
def task_run_now(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Retry a task now that waits for its retry."""
    member, found = requested_task(request, task_id, Action.MANAGE_TASKS)
    try:
        control.run_now(found.id, actor=actor_of_task_action(member), owner_id=member.company.id)
    except WrongStatus:
        messages.error(request, _("This task no longer waits for a retry."))
    else:
        messages.success(request, _("The task runs as soon as a worker is free."))
    return redirect("task", task_id=found.id)


@require_POST
@for_members(Action.MANAGE_TASKS)
def task_replay(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Replay a dead letter unchanged."""
    member, found = requested_task(request, task_id, Action.MANAGE_TASKS)
    try:
        dead_letters.replay_dead_letter(
            found.id,
            actor=actor_of_task_action(member),
            owner_id=member.company.id,
            confirmed="confirmed" in request.POST,
        )
    except ConfirmationNeeded:
        messages.error(request, "Confirm that you want to run this task again.")
    except WrongStatus as error:
        messages.error(request, words_of_refused_task_action(error))
    else:
        messages.success(request, "Task queued to run again, with all its attempts.")
    return redirect("task", task_id=found.id)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def task_edit(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Replay a dead letter with an edited payload."""
    member, found = requested_task(request, task_id, Action.MANAGE_TASKS)
    shown = _task_page_json(redact_payload(found.type.schema, found.payload))
    form = TaskPayloadForm(request.POST or None, initial={"payload": shown})
    if form.is_valid() and attempt_task_action(
        form, lambda: _replay_edited_task(request, member, found, form), field="payload"
    ):
        messages.success(request, "Task queued to run again with your payload.")
        return redirect("task", task_id=found.id)
    context = {
        "form": form,
        "task": found,
        "row": task_rows_of(member.company.id, [found], database_now())[0],
        "failures": error_details_of(found.errors[-1:]),
        "fields": task_descriptions.describe_task_fields(found.type.schema),
    }
    return render(request, "background/edit.html", context, status=422 if form.errors else 200)


def _replay_edited_task(
    request: HttpRequest, member: Member, found: Task, form: TaskPayloadForm
) -> None:
    payload = form.cleaned_data["payload"]
    foreign = ids_not_owned(member.company.id, [(found.type.key, payload)])
    if foreign:
        raise foreign[0]
    dead_letters.edit_and_replay_dead_letter(
        found.id,
        payload,
        actor=actor_of_task_action(member),
        owner_id=member.company.id,
        confirmed=not found.type.sensitive or "confirmed" in request.POST,
    )


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def task_discard(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Ask for confirmation, then discard a dead letter."""
    member, found = requested_task(request, task_id, Action.MANAGE_TASKS)
    if request.method == "GET":
        [row] = task_rows_of(member.company.id, [found], database_now())
        return render(request, "background/discard.html", {"task": found, "row": row})
    try:
        dead_letters.discard_dead_letter(
            found.id, actor=actor_of_task_action(member), owner_id=member.company.id
        )
    except WrongStatus as error:
        messages.error(request, words_of_refused_task_action(error))
        return redirect("task", task_id=found.id)
    messages.success(request, "Task discarded.")
    return redirect("dead_letters")
