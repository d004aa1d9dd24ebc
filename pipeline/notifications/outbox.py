"""Outbox: the email tasks that follow from the events of a change, written together with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache

from django.conf import settings

from applicants.mail import NOWHERE
from pipeline.domain.states import ActorKind, EventType
from pipeline.line import follow_up
from pipeline.line.event_log import LogEntry, parse_logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.notifications.messages import event_has_email, is_offer_event
from pipeline.notifications.offers import (
    GUARD,
    GUARD_PRIORITY,
    GUARD_TASK,
    WATCH,
    first_reminder,
    offer_checkpoints,
)
from pipeline.notifications.offers import PRIORITY as OFFER_PRIORITY
from tasks import registry
from tasks.enqueue import NewTask
from tasks.payloads import CheckedPayload

EVENT, BULK = "email.event", "email.bulk"  # the types of the tasks
# An offer has a deadline, so its email goes before the others; imports and closed lines wait.
EVENT_PRIORITY, BULK_PRIORITY = 20, -20


def start_event_emails() -> None:
    """Write the email tasks of every change from now on."""
    follow_up.register_follow_up(email_tasks)


def email_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Derive the tasks that send the emails about events, and watch over the offers among them."""
    if not settings.NOTIFY or settings.EMAIL_BACKEND == NOWHERE:
        return []
    offered = {entry.application_id for entry in entries if is_offer_event(entry)}
    return [
        task
        for entry in entries
        # Whoever proves the address and is offered a seat at once gets one email, the offer.
        if event_has_email(entry)
        if entry.event != EventType.VERIFIED or entry.application_id not in offered
        for task in _email_tasks_of(entry)
    ]


def _email_tasks_of(entry: LogEntry) -> Iterator[NewTask]:
    if is_offer_event(entry):
        yield _email_task(EVENT, entry, OFFER_PRIORITY)
        deadline = parse_logged_time(entry.data["deadline"])
        if deadline is not None:
            guarded = next(
                at for at, what in offer_checkpoints(entry.at, deadline) if what == GUARD
            )
            yield _email_task(GUARD_TASK, entry, GUARD_PRIORITY, run_after=guarded)
            reminded = first_reminder(entry.at, deadline, after=entry.at)
            if reminded is not None:
                yield _email_task(WATCH, entry, OFFER_PRIORITY, run_after=reminded)
        return
    is_bulk = entry.event == EventType.CLOSED_OUT or (
        entry.event == EventType.APPLIED and entry.actor_kind == ActorKind.COMPANY
    )
    yield (
        _email_task(BULK, entry, BULK_PRIORITY)
        if is_bulk
        else _email_task(EVENT, entry, EVENT_PRIORITY)
    )


def _email_task(
    key: str, entry: LogEntry, priority: int, *, run_after: datetime | None = None
) -> NewTask:
    """Make a task; its payload fits the schema by its making, so the check is left out."""
    payload = f'{{"application":"{entry.application_id}","seq":{entry.seq}}}'
    return NewTask(
        key, CheckedPayload(_email_task_spec(key), payload), priority=priority, run_after=run_after
    )


@cache
def _email_task_spec(key: str) -> registry.TaskSpec:
    return registry.find_registered_type(key)
