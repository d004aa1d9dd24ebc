"""Moves on a locked job. Each changes rows in memory, updates the counters and logs one event.

Moves of applications go through `make_move`, changes of the job itself through `make_job_move`.
`pipeline.line.write.write` then writes them to the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext_lazy as _

from jobs.models import JobStatus
from pipeline.domain import draw
from pipeline.domain.errors import DatesRefused, IllegalJobMove
from pipeline.domain.place import LOGGED, WISHES
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    CLOSES_AT,
    DRAW_AT,
    HIRED,
    JOB_MOVES,
    OPENS_AT,
    POSITIONS,
    RESERVED_FOR,
    RESERVED_SEATS,
    RESERVED_TAKEN,
    RESERVED_UNTIL,
    SYSTEM,
    TIME_ZONE,
    VIA_KEY,
    Actor,
    EventType,
    Move,
    Status,
)
from pipeline.domain.verbs import EVENTS, KEEPING_STATUS, OUTCOMES, status_after
from pipeline.line.event_log import LogEntry, logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application

# Effects of a move on the application's own row, besides its status; and the order of the line. The
# order is (ticket, tie), given under the job's lock. Only a draw by lot gives everyone a new one.


_IN_PLACE = {move for move, event in EVENTS.items() if event in KEEPING_STATUS}
_IN_PLACE |= {Move.REINSTATE}
_IN_PLACE -= {Move.EXTEND}


def apply_effects(job: LockedJob, application: Application, move: Move) -> None:
    """Update the rest of an application's row after a move that has set its new status.

    The caller has already set the rest: for an extension the new deadline, for a wish its fields,
    for a reinstatement everything that the miss had changed, for a draw the new place, and for a
    pass the place before the offer.
    """
    if move in _IN_PLACE:  # the place stays, or was set
        keeps_unverified = move in (Move.PLACE, Move.NOTE_GROUP)
        application.verify_by = (keeps_unverified and application.verify_by) or None
        if move is Move.PREACCEPT and application.accept_until:  # says the opposite of a pass
            application.pass_next = False
        elif move is Move.ASK_PASS and application.pass_next:
            application.accept_until = None
        return
    application.pass_next = False
    if move is not Move.PASS:
        application.ticket = application.tie = None
        for wish in WISHES.values():
            setattr(application, wish.name, wish.blank)
    if move is Move.EXTEND:
        application.deadline_extended = True
        return
    application.acknowledge_by = None
    application.deadline_extended = False
    application.status_since = job.now
    change_status(job, application, move)


def change_status(job: LockedJob, application: Application, move: Move) -> None:
    """Update the fields that change with the status, or with a turn."""
    if move is Move.PASS:  # no miss; the cool-down lets the next in line have the seat
        application.passes_used += 1
        application.passed_at = job.now
        application.eligible_at = job.policy.cooldown_until(job.now)
        return
    if move in (Move.DECAY, Move.LAPSE):
        application.decay_count += 1
        application.eligible_at = job.policy.cooldown_until(job.now)
    if application.status == Status.PENDING_ACKNOWLEDGMENT:
        application.promoted_at = job.now
        application.acknowledge_by = job.policy.deadline(job.now, job.zones.get(application.id, ""))
        application.eligible_at = application.passed_at = None
        job.note_due(application.acknowledge_by)
    elif move is Move.ACKNOWLEDGE:
        application.acknowledged_at = job.now
    elif application.status == Status.WAITLIST:
        application.ticket, application.tie = draw_ticket(job, application.decay_count)
    elif application.status == Status.INACTIVE:
        application.outcome = OUTCOMES[move]
        application.ended_at = job.now


def draw_ticket(job: LockedJob, misses: int) -> tuple[int, int]:
    """Draw the ticket and tie of a person who joins the waitlist with the next event.

    Without a miss it is the next ticket, which is then used up. With misses it is penalty_places
    times misses behind the back, and no ticket is used up: exactly that many later newcomers pass,
    and nobody already waiting loses a place. The tie is the event's seq, so the order is total.
    """
    tie = job.seq + 1
    if misses:
        return job.next_ticket + job.policy.places_lost(misses), tie
    job.next_ticket += 1
    return job.next_ticket - 1, tie


def replayable_effects(application: Application) -> dict[str, Any]:
    """Return an application's data for the log after a move: everything that replay needs."""
    known: dict[str, Any] = {}
    for name, logged, is_time, blank in LOGGED:
        value = getattr(application, name)
        if value != blank:
            known[logged] = logged_time(value) if is_time else value
    return known


def _take_or_leave_reserved(
    job: LockedJob, application: Application, before: Status | None, after: Status
) -> None:
    """Note whether the seat that a person takes is a reserved one, or that they have left it.

    People of the job's group take a reserved seat while one is free. The counters of seats are
    those before the move.
    """
    if (before is not None and before.holds_seat) == after.holds_seat:
        return
    takes = after.holds_seat and application.is_member and bool(job.reserved_seats_free)
    if takes != application.reserved_seat:
        application.reserved_seat = takes
        job.reserved_count += 1 if takes else -1
        job.has_rare_changes = True


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
    apply_effects(job, application, move)
    _take_or_leave_reserved(job, application, before, now_in)
    for status, step in ((before, -1), (now_in, +1)):
        if status in _COUNTERS:
            counter = _COUNTERS[status]
            setattr(job, counter, getattr(job, counter) + step)
    is_unverified = now_in is Status.WAITLIST and not application.is_verified
    job.unverified_count += is_unverified - was_unverified
    if move is Move.HIRE:
        job.hired_count += 1
        job.has_rare_changes = True
    quiet = job.quiet_hours_of(application) if now_in is Status.PENDING_ACKNOWLEDGMENT else None
    if quiet:
        facts = {**facts, TIME_ZONE: quiet.zone}
    if actor.via_key:
        facts = {**facts, VIA_KEY: str(actor.via_key)}
    entry = _record(
        job,
        EVENTS[move],
        actor=actor,
        application=application,
        statuses=(before, now_in),
        data={**facts, **replayable_effects(application)},
        cause_seq=cause_seq,
        effective_at=effective_at,
    )
    left_seat = before and before.holds_seat and not now_in.holds_seat
    if left_seat and job.unheld_seats:  # not while a lowered capacity drains
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


_RARE = (EventType.POSITIONS_CHANGED, EventType.DATES_CHANGED, EventType.RESERVE_CHANGED)


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

    The data also has the offset of a sandbox's clock, the announced times, the number of positions
    to fill and that of reserved seats. `facts` as in `make_move`.
    """
    if event in _RARE:
        job.has_rare_changes = True
    data = {
        **facts,
        "status": job.status.value,
        "capacity": job.capacity,
        "policy": job.policy.values(),
    }
    if job.is_test:
        data["clock_offset_seconds"] = job.clock_offset_seconds
    if job.positions_to_fill is not None:
        data[POSITIONS] = job.positions_to_fill
    if job.reserved_seats:
        data |= {RESERVED_SEATS: job.reserved_seats, RESERVED_FOR: job.reserved_for}
    dates = {DRAW_AT: job.draw_at, OPENS_AT: job.opens_at, CLOSES_AT: job.closes_at}
    dates[RESERVED_UNTIL] = job.reserved_until
    data |= {name: logged_time(at) for name, at in dates.items() if at is not None}
    return _record(job, event, actor=actor, statuses=statuses, data=data, effective_at=effective_at)


def change_job_status(
    job: LockedJob,
    to: JobStatus,
    *,
    actor: Actor,
    effective_at: datetime | None = None,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> LogEntry:
    """Open, pause, resume or close a job. Does not fill its seats.

    Closing deletes planned seats, and makes the job due while people are left to be closed out.
    Raises IllegalJobMove; DrawRefused and DatesRefused for a draft whose draw or closing comes
    before it opens.
    """
    before = job.status
    event = JOB_MOVES.get((before.value, to.value))
    if event is None:
        raise IllegalJobMove(status=before.value, verb=to.value)
    if before is JobStatus.DRAFT:
        at = effective_at or job.now
        draw.check_time(job.draw_at, at)
        if job.closes_at and job.closes_at <= at:
            raise DatesRefused(why=_("The closing date has passed. Change it first."))
        job.opened_at = job.now
        for date in filter(None, (job.draw_at, job.closes_at, job.reserved_until)):
            job.note_due(date)
    job.status = to
    if to is JobStatus.CLOSED:
        job.closed_at = job.now
        job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
        job.source.drop_plans(job)
    return make_job_move(
        job,
        event,
        actor=actor,
        statuses=(before, to),
        effective_at=effective_at,
        facts=facts,
    )


def _record(
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
    if job.positions_to_fill is not None:
        counters[HIRED] = job.hired_count
    if job.reserved_seats or job.reserved_count:
        counters[RESERVED_TAKEN] = job.reserved_count
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
