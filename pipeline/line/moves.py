"""Moves on a locked job. Each changes rows in memory, updates the counters and logs one event.

Moves of applications go through `make_move`, changes of the job itself through `make_job_move`.
`pipeline.line.write.write` then writes them to the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from jobs.models import JobStatus
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    DRAW_AT,
    EVENTS,
    SYSTEM,
    TIME_ZONE,
    VIA_KEY,
    Actor,
    EventType,
    Move,
    Status,
    status_after,
)
from pipeline.line import effects
from pipeline.line.event_log import LogEntry, logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application

_COUNTERS = {
    Status.ACTIVE: "active_count",
    Status.PENDING_ACKNOWLEDGMENT: "pending_count",
    Status.WAITLIST: "waitlist_count",
}


def make_move(
    job: LockedJob,
    application: Application,
    move: Move,
    *,
    actor: Actor = SYSTEM,
    cause_seq: int | None = None,
    effective_at: datetime | None = None,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> LogEntry:
    """Move an application (a new one has no status yet), update the counters and log the event.

    `facts` go into the log's data, in addition to what replay needs. Raises IllegalMove.
    """
    before = Status(application.status) if application.status else None
    was_unverified = before is Status.WAITLIST and not application.is_verified
    now_in = application.status = status_after(before, move, verified=application.is_verified)
    is_new = before is None or application.id in job.created
    (job.created if is_new else job.changed)[application.id] = application
    effects.apply_effects(job, application, move)
    for status, step in ((before, -1), (now_in, +1)):
        if status in _COUNTERS:
            counter = _COUNTERS[status]
            setattr(job, counter, getattr(job, counter) + step)
    is_unverified = now_in is Status.WAITLIST and not application.is_verified
    job.unverified_count += is_unverified - was_unverified
    quiet = job.quiet_hours_of(application) if now_in is Status.PENDING_ACKNOWLEDGMENT else None
    if quiet:
        facts = {**facts, TIME_ZONE: quiet.zone}
    if actor.via_key:
        facts = {**facts, VIA_KEY: str(actor.via_key)}
    entry = _record_move(
        job,
        EVENTS[move],
        actor=actor,
        application=application,
        statuses=(before, now_in),
        data={**facts, **effects.effects_for_replay(application)},
        cause_seq=cause_seq,
        effective_at=effective_at,
    )
    left_seat = before and before.holds_seat and not now_in.holds_seat
    if left_seat and job.seats_free:  # not while a lowered capacity drains
        job.freed_by.append(entry.seq)
    return entry


def promote(
    job: LockedJob,
    application: Application,
    *,
    cause_seq: int | None,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> LogEntry | None:
    """Offer a seat to a person who is waiting.

    If they accepted in advance, it is theirs at once: these are two events with the same cause. If
    they asked to pass this turn, they do; that event is returned, and is the cause of whatever
    happens to the seat.
    """
    if application.pass_next:
        return make_move(job, application, Move.PASS, cause_seq=cause_seq)
    until = application.accept_until
    if until is None or until <= job.now:
        make_move(job, application, Move.PROMOTE, cause_seq=cause_seq, facts=facts)
        return None
    accepted = {ACCEPTED_UNTIL: logged_time(until)}
    entry = make_move(
        job, application, Move.PROMOTE, cause_seq=cause_seq, facts={**facts, **accepted}
    )
    cause = cause_seq or entry.seq
    make_move(job, application, Move.ACKNOWLEDGE, cause_seq=cause, facts=accepted)
    return None


def make_job_move(
    job: LockedJob,
    event: EventType,
    *,
    actor: Actor,
    statuses: tuple[JobStatus | None, JobStatus | None] = (None, None),
    effective_at: datetime | None = None,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> LogEntry:
    """Log a change of the job itself, with the job data that replay needs from here on.

    The data also has the offset of a sandbox's clock, and the time of a draw by lot. `facts` as in
    `make_move`.
    """
    data = {
        **facts,
        "status": job.status.value,
        "capacity": job.capacity,
        "policy": job.policy.values(),
    }
    if job.is_test:
        data["clock_offset_seconds"] = job.clock_offset_seconds
    if job.draw_at is not None:
        data[DRAW_AT] = logged_time(job.draw_at)
    return _record_move(
        job, event, actor=actor, statuses=statuses, data=data, effective_at=effective_at
    )


def _record_move(
    job: LockedJob,
    event: EventType,
    *,
    actor: Actor,
    data: dict[str, Any],
    statuses: tuple[str | None, str | None],
    application: Application | None = None,
    cause_seq: int | None = None,
    effective_at: datetime | None = None,
) -> LogEntry:
    """Append a log row: the next `seq`, the counters, and the chain to the row before."""
    counters = {
        "active": job.active_count,
        "pending": job.pending_count,
        "waiting": job.waitlist_count,
        "unverified": job.unverified_count,
        "next_ticket": job.next_ticket,
    }
    entry = LogEntry(
        job_id=job.id,
        seq=job.seq + 1,
        application_id=application.id if application else None,
        event=event.value,
        from_status=statuses[0] and str(statuses[0]),
        to_status=statuses[1] and str(statuses[1]),
        outcome=application.outcome and str(application.outcome) if application else None,
        actor_kind=actor.kind.value,
        actor_id=actor.id,
        cause_seq=cause_seq,
        policy_version=job.policy_version,
        at=job.now,
        effective_at=effective_at or job.now,
        data=data | counters,
        prev_hash=job.chain_head,
    ).sealed()
    job.seq, job.chain_head, job.last_event_at = entry.seq, entry.hash, entry.at
    job.entries.append(entry)
    return entry
