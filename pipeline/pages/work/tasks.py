"""One task of a company: its progress, history and errors, and actions on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    for_members,
    require_permission,
    switch_current_member,
)
from pipeline.pages.forms import PlainForm
from pipeline.pages.live_page import live_page
from pipeline.pages.work import descriptions
from pipeline.pages.work.actions import attempt_task, describe_refusal, member_actor
from pipeline.pages.work.descriptions import (
    build_task_rows,
    describe_failures,
    describe_note,
    describe_task_seconds,
    task_row_changes_soon,
)
from pipeline.wording.language import number as in_digits
from pipeline.wording.task_words import TASK_EVENT_WORDS
from pipeline.work.catalog import paused_catalogued_types
from pipeline.work.start import ids_not_owned
from pipeline.work.tasks import (
    actor_names,
    last_event_id,
    read_shown_events,
    worker_mark,
)
from tasks import control, dead_letters
from tasks.errors import ConfirmationNeeded, TaskNotFound, WrongStatus
from tasks.models import EventKind, Status, Task, TaskEvent
from tasks.payloads import HIDDEN, redact_payload


class TaskPayloadForm(PlainForm):
    """Form for a payload as JSON. Keeps the text exactly as typed."""

    payload = forms.CharField(
        label=pgettext_lazy("label", "Payload"),
        help_text=gettext_lazy("The task’s input, as JSON. Your change applies from this run on."),
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "autocapitalize": "off", "class": "code-text"}
        ),
        strip=False,
    )

    def clean_payload(self) -> Any:
        """Return the parsed payload."""
        text = self.cleaned_data["payload"]
        if HIDDEN in text:
            raise forms.ValidationError(
                _("Secrets are hidden here. Enter the secret again in place of %(mark)s.")
                % {"mark": HIDDEN}
            )
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise forms.ValidationError(
                _("This is not valid JSON: %(why)s, line %(line)s, column %(column)s.")
                % {"why": error.msg, "line": error.lineno, "column": error.colno}
            ) from None
        except (ValueError, RecursionError):
            raise forms.ValidationError(_("This JSON cannot be read.")) from None


PEOPLE = ("member", "key")  # prefixes of actors that are not workers


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Event of a task's history in words."""

    title: str
    sentence: str
    tone: str
    event: TaskEvent


def history_entry(event: TaskEvent, actors: Mapping[str, str]) -> HistoryEntry:
    """Describe an event; `actors` maps actor ids to the names of people, keys and schedules."""
    data = event.data if isinstance(event.data, dict) else {}
    if event.kind == EventKind.EMITTED:
        text = "" if data.get("data") is None else str(data["data"])[:500]
        return HistoryEntry(
            str(data.get("name") or pgettext("task event", "Message")), text, "plain", event
        )
    title, tone = TASK_EVENT_WORDS.get(event.kind, (event.kind, "plain"))
    who = actors.get(event.actor) or pgettext("by", "someone")
    return HistoryEntry(str(title), _history_sentence(event, data, who), tone, event)


_FIXED: dict[str, Promise] = {
    EventKind.RETURNED: gettext_lazy("The worker stopped too early. This attempt does not count."),
    EventKind.LEASE_LOST: gettext_lazy(
        "Its worker stopped responding. Another worker can take the task."
    ),
    EventKind.DEAD: gettext_lazy("It will not be retried automatically. You can run it again."),
}
_BY_PEOPLE = (
    EventKind.ENQUEUED,
    EventKind.CANCEL_REQUESTED,
    EventKind.REPLAYED,
)


def _history_sentence(event: TaskEvent, data: Mapping[str, Any], who: str) -> str:
    by_hand = event.actor.partition(":")[0] in PEOPLE
    if event.kind in _FIXED:
        return str(_FIXED[event.kind])
    if event.kind in _BY_PEOPLE and data.get("edited"):
        return _("By %(who)s, with an edited payload.") % {"who": who}
    if event.kind in _BY_PEOPLE or (event.kind == EventKind.DISCARDED and by_hand):
        return _("By %(who)s.") % {"who": who}
    if event.kind == EventKind.DISCARDED:
        return _("The task reported that it is no longer needed.")
    return _run_sentence(event, data, who if by_hand else "")


def _run_sentence(event: TaskEvent, data: Mapping[str, Any], by_hand: str) -> str:
    match event.kind:
        case EventKind.STARTED:
            given = {"number": event.attempt, "worker": worker_mark(event.actor)}
            if given["worker"]:
                return _("Attempt %(number)s, by worker %(worker)s.") % given
            return _("Attempt %(number)s.") % given
        case EventKind.PROGRESS:
            return _progress_sentence(data)
        case EventKind.FAILED:
            return _failure_sentence(event.attempt, data.get("error"))
        case EventKind.RETRY_SCHEDULED:
            return _retry_sentence(data.get("delay_seconds"), by_hand)
        case EventKind.CANCELLED if data.get("finished"):
            return _("The task stopped on its own.")
    return ""


def _failure_sentence(attempt: int, error: object) -> str:
    given = {"number": attempt, "error": error}
    if error:
        return _("Attempt %(number)s ended with %(error)s.") % given
    return _("Attempt %(number)s ended with an error.") % given


def _retry_sentence(wait: float | None, by_hand: str) -> str:
    if by_hand:
        return _("Now, by %(who)s.") % {"who": by_hand}
    if wait is None:
        return pgettext("retry", "Immediately.")
    return _("After %(time)s.") % {"time": describe_task_seconds(float(wait))}


def _progress_sentence(data: Mapping[str, Any]) -> str:
    done, total = data.get("done"), data.get("total")
    if not isinstance(done, int) or not total:
        return ""
    given = {
        "done": in_digits(done),
        "total": in_digits(total),
        "note": describe_note(data.get("note")),
    }
    if given["note"]:
        # Translators: progress of a task, like "20 of 300, rows written."
        return _("%(done)s of %(total)s, %(note)s.") % given
    return _("%(done)s of %(total)s.") % given


EVENTS_SHOWN = 100
POLL_SECONDS = 2  # tasks announce nothing, so that a page must ask whether one has come
CALM_POLL_SECONDS = 30  # while the task cannot change by itself


def read_requested(
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
    return require_permission(member, action), found


@require_safe
@for_members()
def show(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Show a task; the page updates itself."""
    member, found = read_requested(request, task_id)
    now = instants.now()
    is_moving = task_row_changes_soon(found, now)
    step = int(now.timestamp()) // (POLL_SECONDS if is_moving else CALM_POLL_SECONDS)
    paused = paused_catalogued_types(member.company.id)
    is_held = found.type.key in paused
    state = (
        last_event_id(found.id),
        found.status,
        found.progress,
        is_held,
        is_moving and step,
    )
    return live_page(
        request,
        "work/task.html",
        "work/_task.html",
        build=lambda: _page_context(request, member, found, now, paused),
        tag=str(state),
    )


def _page_context(
    request: HttpRequest, member: Member, found: Task, now: datetime, paused: set[str]
) -> dict[str, Any]:
    given = request.GET.get("events", "")
    after = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None
    events = read_shown_events(found.id, after=after, limit=EVENTS_SHOWN)
    actors = actor_names({event.actor for event in events.rows})
    last = str(events.rows[-1].id) if events.more else None
    [row] = build_task_rows(member.company.id, [found], now, paused=paused)
    is_dead, manages = found.status == Status.DEAD, member.may(Action.MANAGE_TASKS)
    return {
        "member": member,
        "task": found,
        "row": row,
        "about": descriptions.describe_task_type(found.type.key),
        "payload": _pretty_json(redact_payload(found.type.schema, found.payload)),
        "result": _pretty_json(found.result) if found.result is not None else "",
        "failures": describe_failures(found.errors),
        "history": [history_entry(event, actors) for event in events.rows],
        "next_url": page_urls.change_query(request, events=last) if last else "",
        "first_url": page_urls.change_query(request, events=None) if after else "",
        "poll_seconds": POLL_SECONDS if task_row_changes_soon(found, now) else CALM_POLL_SECONDS,
        "now": now,
        "may": {
            "cancel": manages and row.is_open,
            "decide": manages and is_dead,
            "run_now": manages and row.is_later and found.attempt > 0,
        },
    }


def _pretty_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


@require_POST
@for_members(Action.MANAGE_TASKS)
def cancel(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Cancel a waiting or running task."""
    member, found = read_requested(request, task_id, Action.MANAGE_TASKS)
    try:
        now = control.cancel(found.id, actor=member_actor(member), owner_id=member.company.id)
    except WrongStatus as error:
        messages.error(request, describe_refusal(error))
    else:
        is_over = now is Status.CANCELLED
        messages.success(
            request, _("Task cancelled.") if is_over else _("You asked this task to stop.")
        )
    return redirect("work") if "back" in request.POST else redirect("task", task_id=found.id)


@require_POST
@for_members(Action.MANAGE_TASKS)
def run_now(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Retry a task now that waits for its retry."""
    member, found = read_requested(request, task_id, Action.MANAGE_TASKS)
    try:
        control.run_now(found.id, actor=member_actor(member), owner_id=member.company.id)
    except WrongStatus:
        messages.error(request, _("This task no longer waits for a retry."))
    else:
        messages.success(request, _("The task runs as soon as a worker is free."))
    return redirect("task", task_id=found.id)


@require_POST
@for_members(Action.MANAGE_TASKS)
def replay(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Run a dead letter again, unchanged."""
    member, found = read_requested(request, task_id, Action.MANAGE_TASKS)
    try:
        dead_letters.replay(
            found.id,
            actor=member_actor(member),
            owner_id=member.company.id,
            confirmed="confirmed" in request.POST,
        )
    except ConfirmationNeeded:
        messages.error(request, _("Confirm that you want to run this task again."))
    except WrongStatus as error:
        messages.error(request, describe_refusal(error))
    else:
        messages.success(request, _("Task queued to run again, with all its attempts."))
    return redirect("task", task_id=found.id)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def edit(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Run a dead letter again with an edited payload."""
    member, found = read_requested(request, task_id, Action.MANAGE_TASKS)
    shown = _pretty_json(redact_payload(found.type.schema, found.payload))
    form = TaskPayloadForm(request.POST or None, initial={"payload": shown})
    if form.is_valid() and attempt_task(
        form, lambda: _replay_edited(request, member, found, form), field="payload"
    ):
        messages.success(request, _("Task queued to run again with your payload."))
        return redirect("task", task_id=found.id)
    context = {
        "form": form,
        "task": found,
        "row": build_task_rows(member.company.id, [found], instants.now())[0],
        "failures": describe_failures(found.errors[-1:]),
        "fields": descriptions.describe_task_fields(found.type.schema),
    }
    return render(request, "work/edit.html", context, status=422 if form.errors else 200)


def _replay_edited(
    request: HttpRequest, member: Member, found: Task, form: TaskPayloadForm
) -> None:
    payload = form.cleaned_data["payload"]
    foreign = ids_not_owned(member.company.id, [(found.type.key, payload)])
    if foreign:
        raise foreign[0]
    dead_letters.edit_and_replay(
        found.id,
        payload,
        actor=member_actor(member),
        owner_id=member.company.id,
        confirmed=not found.type.sensitive or "confirmed" in request.POST,
    )


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def discard(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Ask for confirmation, then discard a dead letter."""
    member, found = read_requested(request, task_id, Action.MANAGE_TASKS)
    if request.method == "GET":
        [row] = build_task_rows(member.company.id, [found], instants.now())
        return render(request, "work/discard.html", {"task": found, "row": row})
    try:
        dead_letters.discard(found.id, actor=member_actor(member), owner_id=member.company.id)
    except WrongStatus as error:
        messages.error(request, describe_refusal(error))
        return redirect("task", task_id=found.id)
    messages.success(request, _("Task discarded."))
    return redirect("dead_letters")
