"""Outbox: email tasks written with the events of a change, and their handlers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Annotated
from uuid import UUID

from django.conf import settings

from applicants.mail import NOWHERE
from jobs.models import Job
from pipeline.database import instants
from pipeline.domain.states import TIME_ZONE, ActorKind, EventType, Reason, Status
from pipeline.line import write
from pipeline.line.event_log import LogEntry, parse_logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.models import OVERTAKEN, Application, Email, EmailState, Event, LineException
from pipeline.notifications import applicants, offers, overtaken
from pipeline.notifications.applicants import YES, Cause, build_email_id, email_kind
from pipeline.notifications.messages import EventForMail, is_emailed, offers_seat
from pipeline.notifications.offers import (
    GUARD,
    GUARD_PRIORITY,
    GUARD_TASK,
    REMIND_OF_YES,
    WATCH,
    YES_PRIORITY,
    OfferTimes,
    first_reminder,
    list_checkpoints,
    remind_yes,
    sandbox_yes_reminders,
    yes_reminder_time,
)
from pipeline.notifications.offers import PRIORITY as OFFER_PRIORITY
from tasks import registry
from tasks.enqueue import NewTask, enqueue_many
from tasks.payloads import CheckedPayload
from tasks.registry import task_type
from tasks.retry import Backoff
from tasks.signature import JsonSchema, Positive

# Emails in a sandbox: recorded as they would have been sent, but sent to nobody. They are derived
# from the log, each with the time at which it would have been sent, so they can be recorded late.
# Their text is composed when someone reads it.


RECORD = "email.sandbox"  # the type of the task


@dataclass(frozen=True, slots=True)
class SandboxOffer:
    """Offer of a seat in a sandbox, open until `over_at` at most."""

    event: Event
    over_at: datetime


def record_sandbox_emails(job_id: UUID, first_seq: int, last_seq: int) -> int:
    """Record the emails about some events of a sandbox's job; return how many there are.

    This includes the reminders of the offers that these events make or end, and after an advance
    of the clock those of all open offers. The same is true of a yes in advance. Repeating it is
    harmless.
    """
    job = Job.objects.get(id=job_id)
    now = instants.now(ahead_seconds=job.clock_offset_seconds)
    events = list(
        Event.objects.filter(job_id=job_id, seq__range=(first_seq, last_seq)).order_by("seq")
    )
    offered = {each.application_id for each in events if offers_seat(each)}
    rows = [
        _sandbox_email(Cause(_application_id(each), each.seq), each, each.at)
        for each in events
        # A person who proves the address and is offered a seat at once gets one email, the offer.
        if is_emailed(each)
        if each.event != EventType.VERIFIED or each.application_id not in offered
    ]
    for offer in _sandbox_offers(job_id, events, now):
        deadline = parse_logged_time(offer.event.data["deadline"])
        assert deadline is not None  # noqa: S101  offers have a deadline
        quiet = job.policy.quiet_hours(offer.event.data.get(TIME_ZONE, ""))
        for at, what in list_checkpoints(OfferTimes(offer.event.at, deadline, quiet)):
            if what != GUARD and at < min(offer.over_at, now):
                cause = Cause(_application_id(offer.event), offer.event.seq, reminder=what)
                rows.append(_sandbox_email(cause, offer.event, at))
    for yes, at in sandbox_yes_reminders(job_id, events, now):
        cause = Cause(_application_id(yes), yes.seq, reminder=YES)
        rows.append(_sandbox_email(cause, yes, at))
    for event in events:
        if event.event == EventType.MOVED_AHEAD:
            exception = LineException.objects.get(job_id=job_id, seq=event.seq)
            for passed in overtaken.read_passed(exception, after=0, upto=event.seq):
                cause = Cause(passed, event.seq, reminder=OVERTAKEN)
                rows.append(_sandbox_email(cause, event, event.at))
    Email.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _sandbox_offers(job_id: UUID, events: list[Event], now: datetime) -> Iterator[SandboxOffer]:
    """Return the offers that events make or end, and after an advance of the clock the open ones.

    In a sandbox only the company extends a deadline, and that counts as another offer: the event
    after one ends it.
    """
    pending = Status.PENDING_ACKNOWLEDGMENT
    offers = {each.id: each for each in events if offers_seat(each) or is_extended_by_company(each)}
    for event in events:
        if event.from_status == pending:
            before = Event.objects.filter(application_id=event.application_id, seq__lt=event.seq)
            for offer in before.order_by("-seq")[:1]:
                offers[offer.id] = offer
    if any(each.event == EventType.CLOCK_ADVANCED for each in events):
        open_ones = Application.objects.filter(job_id=job_id, status=pending).values("id")
        last = Event.objects.filter(application_id__in=open_ones).order_by("application_id", "-seq")
        offers |= {offer.id: offer for offer in last.distinct("application_id")}
    for offer in offers.values():
        later = Event.objects.filter(application_id=offer.application_id, seq__gt=offer.seq)
        end = later.order_by("seq").values_list("at", flat=True).first()
        yield SandboxOffer(offer, end or now)


def _application_id(event: Event) -> UUID:
    assert event.application_id is not None  # noqa: S101  it is emailed
    return event.application_id


def _sandbox_email(cause: Cause, event: Event, at: datetime) -> Email:
    kind = email_kind(cause, event)
    return Email(
        id=build_email_id(cause, kind),
        application_id=cause.application_id,
        seq=cause.seq,
        kind=kind,
        state=EmailState.SENT,
        created_at=at,
        state_at=at,
    )


EVENT, BULK = "email.event", "email.bulk"  # the types of the tasks
# Those about an exception: the email to one person whom it passed, and the search for all of them.
PASSED, TELL_PASSED = "email.overtaken", "email.tell_overtaken"
# An offer has a deadline, so its email goes before the others; imports and closed lines wait.
EVENT_PRIORITY, BULK_PRIORITY = 20, -20
registered_type = cache(registry.find_registered_type)


def start() -> None:
    """Write the email tasks of every change from now on."""
    write.register_follow_up(email_tasks)


def email_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Derive the tasks that send the emails about events, and watch over the offers among them."""
    if not settings.NOTIFY or settings.EMAIL_BACKEND == NOWHERE:
        return []
    if job.is_test:
        return list(_sandbox_tasks(job, entries))
    offered = {entry.application_id for entry in entries if offers_seat(entry)}
    return [
        task
        for entry in entries
        # A person who proves the address and is offered a seat at once gets one email, the offer.
        if is_emailed(entry)
        if entry.event != EventType.VERIFIED or entry.application_id not in offered
        for task in _entry_tasks(job, entry)
    ] + [
        _new_task(REMIND_OF_YES, entry, YES_PRIORITY, run_after=at)
        for entry in entries
        if (at := yes_reminder_time(entry))
    ]


def _entry_tasks(job: LockedJob, entry: LogEntry) -> Iterator[NewTask]:
    if offers_seat(entry):
        yield _new_task(EVENT, entry, OFFER_PRIORITY)
        if (times := _logged_offer_times(job, entry)) is not None:
            guarded = next(at for at, what in list_checkpoints(times) if what == GUARD)
            yield _new_task(GUARD_TASK, entry, GUARD_PRIORITY, run_after=guarded)
            yield from _watch_tasks(entry, times)
        return
    if is_extended_by_company(entry) and (times := _logged_offer_times(job, entry)) is not None:
        yield from _watch_tasks(entry, times)
    if entry.event == EventType.MOVED_AHEAD:
        yield _passed_task(entry)
    is_bulk = (
        entry.event in (EventType.CLOSED_OUT, EventType.PLACED)
        or (entry.event == EventType.APPLIED and entry.actor_kind == ActorKind.COMPANY)
        or entry.data.get("reason") == Reason.IMPORT_UNDONE
    )
    yield (
        _new_task(BULK, entry, BULK_PRIORITY)
        if is_bulk
        else _new_task(EVENT, entry, EVENT_PRIORITY)
    )


def _passed_task(entry: LogEntry) -> NewTask:
    payload = {"job": str(entry.job_id), "seq": entry.seq, "after": 0}
    return NewTask(TELL_PASSED, payload, priority=BULK_PRIORITY)


def _watch_tasks(entry: LogEntry, times: OfferTimes) -> Iterator[NewTask]:
    reminded = first_reminder(times, after=entry.at)
    if reminded is not None:
        yield _new_task(WATCH, entry, OFFER_PRIORITY, run_after=reminded)


def is_extended_by_company(event: EventForMail) -> bool:
    """Tell whether the company extended an offer by an event: from then on, other reminders."""
    by_company = event.actor_kind == ActorKind.COMPANY
    return event.event == EventType.DEADLINE_EXTENDED and by_company


def _sandbox_tasks(job: LockedJob, entries: list[LogEntry]) -> Iterator[NewTask]:
    """Derive the tasks that record emails: one at once, and one at each reminder still to come.

    An advance of the clock does not wait for the latter: it also has all reminders before its time
    recorded.
    """
    yield _recording_task(job.id, entries[0].seq, entries[-1].seq)
    ahead = timedelta(seconds=job.clock_offset_seconds)
    for entry in entries:
        is_reminded = offers_seat(entry) or is_extended_by_company(entry)
        times = _logged_offer_times(job, entry) if is_reminded else None
        for at, what in list_checkpoints(times) if times else ():
            if what != GUARD and at > (job.settles_until or job.now):
                yield _recording_task(job.id, entry.seq, entry.seq, run_after=at - ahead)
        if yes_ends := yes_reminder_time(entry):
            yield _recording_task(job.id, entry.seq, entry.seq, run_after=yes_ends - ahead)


def _logged_offer_times(job: LockedJob, entry: LogEntry) -> OfferTimes | None:
    """Return the times of an offer that was just logged."""
    deadline = parse_logged_time(entry.data["deadline"])
    quiet = job.policy.quiet_hours(entry.data.get(TIME_ZONE, ""))
    return OfferTimes(entry.at, deadline, quiet) if deadline else None


def _recording_task(
    job_id: UUID, first_seq: int, last_seq: int, *, run_after: datetime | None = None
) -> NewTask:
    payload = {"job_id": str(job_id), "first_seq": first_seq, "last_seq": last_seq}
    return NewTask(RECORD, payload, priority=BULK_PRIORITY, run_after=run_after)


def _new_task(
    key: str, entry: LogEntry, priority: int, *, run_after: datetime | None = None
) -> NewTask:
    """Make a task. Its payload always fits the schema, so it is not checked."""
    payload = f'{{"application":"{entry.application_id}","seq":{entry.seq}}}'
    return NewTask(
        key, CheckedPayload(registered_type(key), payload), priority=priority, run_after=run_after
    )


# Task handlers of emails about applications.


Number = Annotated[int, JsonSchema(minimum=0)]
# Fifteen seconds, then twice as long each time up to an hour: half a day until it is given up.
_BACKOFF = Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5)
# None that sends is `trusted_short`: behind a slow mail server their attempts would queue at a
# child, and a sign-in code behind them.
_email_type = partial(task_type, queue="email", timeout_seconds=60, max_attempts=20)


def give_up_email(application: UUID, seq: int, number: int = 0) -> None:
    """Record that an email will not be tried again."""
    applicants.give_up_email(Cause(application, seq, number=number))


@_email_type(
    key=EVENT,
    urgent=True,
    backoff=_BACKOFF,
    on_fail=give_up_email,
    waits_for_service=True,
)
def send_event_email(application: UUID, seq: Positive, number: Number = 0) -> dict[str, str]:
    """Send the email about an event: {"state"}. A late offer gets the lost time back."""
    state = applicants.send_email(Cause(application, seq, number=number))
    if state == EmailState.SENT:
        offers.extend_delayed(application, seq)
    return {"state": state}


@_email_type(
    key=BULK,
    rate=(settings.EMAIL_RATE_PER_MINUTE, 60.0),
    backoff=_BACKOFF,
    on_fail=give_up_email,
    waits_for_service=True,
)
def send_bulk_email(application: UUID, seq: Positive, number: Number = 0) -> dict[str, str]:
    """Send one of very many emails (of an import or a closed line), at the site's rate."""
    return {"state": applicants.send_email(Cause(application, seq, number=number))}


def give_up_overtaken_email(application: UUID, seq: int) -> None:
    """Record that an email about an exception will not be tried again."""
    applicants.give_up_email(Cause(application, seq, reminder=OVERTAKEN))


@_email_type(
    key=PASSED,
    rate=(settings.EMAIL_RATE_PER_MINUTE, 60.0),
    backoff=_BACKOFF,
    on_fail=give_up_overtaken_email,
    waits_for_service=True,
)
def send_overtaken_email(application: UUID, seq: Positive) -> dict[str, str]:
    """Tell one person of an exception that passed them: {"state"}."""
    return {"state": applicants.send_email(Cause(application, seq, reminder=OVERTAKEN))}


@task_type(key=TELL_PASSED, queue="email", timeout_seconds=120, max_attempts=20, backoff=_BACKOFF)
def tell_overtaken(job: UUID, seq: Positive, after: Number = 0) -> dict[str, int]:
    """Enqueue the emails to the people whom an exception passed, by stretches: {"emails"}."""
    upto = after + overtaken.EVENTS_AT_ONCE
    exception = LineException.objects.get(job_id=job, seq=seq)
    passed = overtaken.read_passed(exception, after=after, upto=upto)
    tasks = [
        NewTask(PASSED, {"application": str(each), "seq": seq}, priority=BULK_PRIORITY)
        for each in passed
    ]
    if upto < seq - 1:
        rest = {"job": str(job), "seq": seq, "after": upto}
        tasks.append(NewTask(TELL_PASSED, rest, priority=BULK_PRIORITY))
    enqueue_many(tasks)
    return {"emails": len(passed)}


def give_up_reminder(application: UUID, seq: int) -> None:
    """Record that a reminder will not be tried again."""
    offers.close_reminders(application, seq, applicants.UNREACHABLE)


@_email_type(
    key=offers.WATCH,
    urgent=True,
    backoff=Backoff(base_seconds=5, cap_seconds=300, jitter_seconds=2),
    on_fail=give_up_reminder,
    waits_for_service=True,
)
def watch_offer(application: UUID, seq: Positive) -> dict[str, str]:
    """Send a reminder of an open offer: {"done"}."""
    return {"done": offers.watch(application, seq)}


@_email_type(
    key=REMIND_OF_YES,
    backoff=_BACKOFF,
    on_fail=give_up_reminder,
    waits_for_service=True,
)
def remind_yes_end(application: UUID, seq: Positive) -> dict[str, str]:
    """Remind a person that their yes in advance ends soon: {"done"}."""
    return {"done": remind_yes(application, seq)}


@_email_type(
    key=offers.GUARD_TASK,
    urgent=True,
    backoff=Backoff(base_seconds=1, cap_seconds=300, jitter_seconds=1),
)
def extend_unsent_offer(application: UUID, seq: Positive) -> dict[str, str]:
    """Extend the deadline of an offer whose email was not handed over: {"done"}."""
    return {"done": offers.extend_unsent(application, seq)}


@task_type(key=RECORD, queue="email", timeout_seconds=120, max_attempts=10, trusted_short=True)
def record_sandbox(job_id: UUID, first_seq: Positive, last_seq: Positive) -> dict[str, int]:
    """Record the emails about events of a sandbox, which go to nobody: {"emails"}."""
    return {"emails": record_sandbox_emails(job_id, first_seq, last_seq)}
