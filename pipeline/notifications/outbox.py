"""Outbox: the email tasks that follow from the events of a change, written together with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from django.conf import settings

from applicants.mail import NOWHERE
from pipeline.domain.states import TIME_ZONE, ActorKind, EventType, Reason
from pipeline.line import follow_up
from pipeline.line.event_log import LogEntry, parse_logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.notifications.messages import event_has_message, event_has_offer_message
from pipeline.notifications.offers import (
    GUARD,
    GUARD_PRIORITY,
    GUARD_TASK,
    WATCH,
    OfferTimes,
    first_offer_reminder,
    offer_checkpoints,
)
from pipeline.notifications.offers import PRIORITY as OFFER_PRIORITY
from pipeline.notifications.sandbox_emails import RECORD
from pipeline.notifications.yes_reminders import PRIORITY as YES_PRIORITY
from pipeline.notifications.yes_reminders import REMIND_OF_YES, yes_reminder_at
from tasks import registry
from tasks.enqueue import NewTask
from tasks.payloads import CheckedPayload

EVENT, BULK = "email.event", "email.bulk"  # the types of the tasks
# An offer has a deadline, so its email goes before the others; imports and closed lines wait.
EVENT_PRIORITY, BULK_PRIORITY = 20, -20
registered_type = cache(registry.find_registered_type)


def start_outbox() -> None:
    """Write the email tasks of every change from now on."""
    follow_up.register_follow_up(outbox_tasks)


def outbox_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Derive the tasks that send the emails about events, and watch over the offers among them."""
    if not settings.NOTIFY or settings.EMAIL_BACKEND == NOWHERE:
        return []
    if job.is_test:
        return list(_outbox_tasks_of_sandbox(job, entries))
    offered = {entry.application_id for entry in entries if event_has_offer_message(entry)}
    return [
        task
        for entry in entries
        # A person who proves the address and is offered a seat at once gets one email, the offer.
        if event_has_message(entry)
        if entry.event != EventType.VERIFIED or entry.application_id not in offered
        for task in _outbox_tasks_of(job, entry)
    ] + [
        _outbox_task(REMIND_OF_YES, entry, YES_PRIORITY, run_after=at)
        for entry in entries
        if (at := yes_reminder_at(entry))
    ]


def _outbox_tasks_of(job: LockedJob, entry: LogEntry) -> Iterator[NewTask]:
    if event_has_offer_message(entry):
        yield _outbox_task(EVENT, entry, OFFER_PRIORITY)
        if (times := _offer_times_for_outbox(job, entry)) is not None:
            guarded = next(at for at, what in offer_checkpoints(times) if what == GUARD)
            yield _outbox_task(GUARD_TASK, entry, GUARD_PRIORITY, run_after=guarded)
            reminded = first_offer_reminder(times, after=entry.at)
            if reminded is not None:
                yield _outbox_task(WATCH, entry, OFFER_PRIORITY, run_after=reminded)
        return
    is_bulk = (
        entry.event in (EventType.CLOSED_OUT, EventType.PLACED)
        or (entry.event == EventType.APPLIED and entry.actor_kind == ActorKind.COMPANY)
        or entry.data.get("reason") == Reason.IMPORT_UNDONE
    )
    yield (
        _outbox_task(BULK, entry, BULK_PRIORITY)
        if is_bulk
        else _outbox_task(EVENT, entry, EVENT_PRIORITY)
    )


def _outbox_tasks_of_sandbox(job: LockedJob, entries: list[LogEntry]) -> Iterator[NewTask]:
    """Derive the tasks that record emails: one at once, and one at each reminder still to come.

    An advance of the clock does not wait for the latter: it also has all reminders before its time
    recorded.
    """
    yield _outbox_task_to_record(job.id, entries[0].seq, entries[-1].seq)
    ahead = timedelta(seconds=job.clock_offset_seconds)
    for entry in entries:
        times = _offer_times_for_outbox(job, entry) if event_has_offer_message(entry) else None
        for at, what in offer_checkpoints(times) if times else ():
            if what != GUARD and at > (job.settles_until or job.now):
                yield _outbox_task_to_record(job.id, entry.seq, entry.seq, run_after=at - ahead)
        if yes_ends := yes_reminder_at(entry):
            yield _outbox_task_to_record(job.id, entry.seq, entry.seq, run_after=yes_ends - ahead)


def _offer_times_for_outbox(job: LockedJob, entry: LogEntry) -> OfferTimes | None:
    """Return the times of an offer that was just logged."""
    deadline = parse_logged_time(entry.data["deadline"])
    quiet = job.policy.quiet_hours(entry.data.get(TIME_ZONE, ""))
    return OfferTimes(entry.at, deadline, quiet) if deadline else None


def _outbox_task_to_record(
    job_id: UUID, first_seq: int, last_seq: int, *, run_after: datetime | None = None
) -> NewTask:
    payload = {"job_id": str(job_id), "first_seq": first_seq, "last_seq": last_seq}
    return NewTask(RECORD, payload, priority=BULK_PRIORITY, run_after=run_after)


def _outbox_task(
    key: str, entry: LogEntry, priority: int, *, run_after: datetime | None = None
) -> NewTask:
    """Make a task. Its payload always fits the schema, so it is not checked."""
    payload = f'{{"application":"{entry.application_id}","seq":{entry.seq}}}'
    return NewTask(
        key, CheckedPayload(registered_type(key), payload), priority=priority, run_after=run_after
    )
