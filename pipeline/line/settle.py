"""Settlement of a job: overdue offers decay or lapse, planned seats open, free seats are filled.

A job with announced dates opens and closes at them. If the order is drawn by lot, the draw comes
before the first seat is filled.

Applications that were not verified in time lapse too, without a miss.

A closed job is closed out instead, in batches. A sandbox's job is settled as if the decay worker
had run at every single deadline, because the passing of time is not an outage there.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Any

from django.utils.translation import ngettext_lazy

from jobs.models import MAX_CAPACITY, JobStatus
from pipeline.domain import draw
from pipeline.domain.draw import ALGORITHM, drawn_order
from pipeline.domain.errors import ClockMoving, SandboxFull
from pipeline.domain.states import (
    PLANNED_CHANGE,
    PLANNED_SEATS,
    SYSTEM,
    UNVERIFIED,
    EventType,
    Move,
    Status,
)
from pipeline.line.event_log import logged_time
from pipeline.line.locked_job import LockedJob, Next
from pipeline.line.moves import change_job_status, draw_ticket, make_job_move, make_move, promote
from pipeline.line.write import write
from pipeline.models import Application, PlannedSeats

# Offers of free seats to the next in line, strictly in order.


# The most turns that one transaction passes for people who asked for it. Each is an event, and all
# other changes to the job wait meanwhile.
MOST_PASSES = 1_000


def fill_seats(job: LockedJob, *, cause_seq: int | None = None) -> None:
    """Offer every free seat of an open job to the first eligible people.

    Each promotion names as its cause the event that opened its seat, oldest first, or else
    `cause_seq`; also the plan, if the seat was planned. People who asked to pass this turn pass
    it; this event is the cause of the promotion into the same seat. If seats stay free because
    everyone who waits is in a cool-down or has deferred, the job becomes due when the first of
    these may end. Nobody is promoted before a draw, once every position is filled, or in a
    sandbox with a full log.

    One transaction passes at most MOST_PASSES turns. If there are more, it stops there with the
    seat still free, and the job stays due: the next settlement goes on from the same place.

    Reserved seats go to the first of the job's group, and stay free if nobody of it can take one.
    """
    if job.status is not JobStatus.OPEN or job.is_full or job.awaits_draw:
        return
    if job.is_walk_unfinished:  # a second call of this transaction
        return
    if not job.unheld_seats or not job.people_waiting:
        return
    passes = MOST_PASSES - job.turns_passed + 1  # one more shows that there are more
    found = _find_next(job, passes)
    if found.people:
        promote_rows(job, found, cause_seq)
    if job.is_walk_unfinished:
        job.note_due(job.now)
    elif job.unheld_seats and job.people_waiting:
        ends = [job.source.next_held(job)]
        ends += [
            person.held_until
            for person in job.changed.values()
            if person.status == Status.WAITLIST and person.is_verified
        ]
        if end := min(filter(None, ends), default=None):
            job.note_due(end)


def _find_next(job: LockedJob, passes: int) -> Next:
    """Find the next in line, and of a job with reserved seats also the next of its group.

    Then the search for the next promotion begins where this one did (`is_partial`), unless
    everyone found is among the first in line.
    """
    if not job.reserved_seats:
        return job.source.next_in_line(job, passes=passes)
    first = Next([], None)
    if job.seats_free:
        first = job.source.next_in_line(job, passes=passes)
    found = {person.id: (person, zone) for person, zone in first.people}
    more = []
    if job.reserved_seats_free:
        members = job.source.next_members(job, passes=passes)
        more = [each for each in members if each[0].id not in found]
    people = [*first.people, *more]
    people.sort(key=lambda each: (each[0].ticket, each[0].tie))
    return Next(people, first.skipped, is_partial=not job.seats_free or bool(more))


def promote_rows(job: LockedJob, found: Next, cause_seq: int | None) -> None:
    """Offer the free seats to the people found, in order."""
    planned = {
        entry.seq: {PLANNED_SEATS: entry.data[PLANNED_SEATS]}
        for entry in job.entries
        if PLANNED_SEATS in entry.data
    }
    last, is_partial = 0, found.is_partial
    for application in [job.attach(*each) for each in found.people]:
        if not job.unheld_seats:
            break
        if not job.can_take_seat(application):  # what is left is reserved
            is_partial = True
            continue
        last = application.ticket or 0
        if application.pass_next and job.turns_passed >= MOST_PASSES:
            job.is_walk_unfinished = True
            break
        cause = job.freed_by.popleft() if job.freed_by else cause_seq
        facts = planned.get(cause or 0, {})
        if passed := promote(job, application, cause_seq=cause, facts=facts):
            job.turns_passed += 1
            job.freed_by.appendleft(passed.seq)
    # The next promotion searches from here. The last promoted ticket would be too late: people in a
    # cool-down, deferred, passing or unverified stay behind when later ones move on, and a miss can
    # give a ticket beyond the next newcomer's. People whom this change put back are not written
    # yet.
    back = [each.ticket for each in job.changed.values() if each.status == Status.WAITLIST]
    bounds = [found.skipped, job.next_ticket, job.head_ticket if is_partial else last, *back]
    job.head_ticket = min(bound for bound in bounds if bound is not None)


def left_walk_unfinished(job: LockedJob) -> bool:
    """Tell whether the change before this one may have stopped at its limit of turns.

    A job is due at or before its last event only then, because every change settles first.
    """
    if job.status is not JobStatus.OPEN or job.awaits_draw or not job.unheld_seats:
        return False
    return job.next_due_at is not None and job.next_due_at <= job.last_event_at


# Planned changes of the number of seats, carried out under the job's lock at their time.


def change_planned_seats(job: LockedJob, plans: list[PlannedSeats]) -> None:
    """Carry out plans for all times up to `job.now`, in order.

    Each change is a separate event, effective at its planned time, however late it is carried out.
    It names its plan, and is the cause of the promotions into its seats. The number of seats
    stays within its limits; a change that would not alter it leaves no event. One that would close
    reserved seats is skipped, and an event says so. Makes the job due at the plans' next times, and
    deletes plans that are done.
    """
    due = [(plan.next_at, plan.id, plan) for plan in plans]
    heapify(due)
    while due:
        at, _, plan = heappop(due)
        _change_seats(job, plan, at)
        plan.done += 1
        if plan.times_left:
            plan.next_at = plan.time_of(plan.done)
            if plan.next_at <= job.now:
                heappush(due, (plan.next_at, plan.id, plan))
                continue
            job.note_due(plan.next_at)
        job.source.put_plan(plan)


def _change_seats(job: LockedJob, plan: PlannedSeats, at: datetime) -> None:
    """Carry out one change of a plan, or skip it if it would close reserved seats."""
    free, before = job.unheld_seats, job.capacity
    after = min(max(before + plan.seats, 1), MAX_CAPACITY)
    facts: dict[str, Any] = {PLANNED_SEATS: str(plan.id)}
    if after < before and after < job.reserved_seats:
        facts |= {PLANNED_CHANGE: plan.seats}
        make_job_move(job, EventType.SEATS_KEPT, actor=SYSTEM, effective_at=at, facts=facts)
        return
    if after == before:
        return
    job.capacity = after
    entry = make_job_move(
        job, EventType.CAPACITY_CHANGED, actor=SYSTEM, effective_at=at, facts=facts
    )
    job.freed_by.extend([entry.seq] * (job.unheld_seats - free))
    while len(job.freed_by) > job.unheld_seats:  # a seat that has just opened closes again
        job.freed_by.pop()


# End of a job's reserved seats, under its lock, at the announced time.


def end_reserve_if_due(job: LockedJob) -> None:
    """Let anyone take the seats that were reserved until now; those that are taken stay so.

    One event says so, effective at the announced time, and is the cause of the promotions into
    these seats. An end that is not due makes the job due then.
    """
    until = job.reserved_until
    if until is None or job.status is JobStatus.DRAFT:
        return
    if until > job.now:
        job.note_due(until)
        return
    before = job.seats_free
    job.reserved_seats, job.reserved_for, job.reserved_until = 0, "", None
    entry = make_job_move(job, EventType.RESERVE_CHANGED, actor=SYSTEM, effective_at=until)
    job.freed_by.extend([entry.seq] * (job.seats_free - before))


# Draw of the order of a job's first line, under its lock, at the announced time.


def draw_if_due(job: LockedJob) -> int | None:
    """Draw and write the order of everyone on the waitlist, once; return the draw's seq, or None.

    One event names the seed, which is computed from the chain's head before it and from its time.
    Then a separate event places each person, in the drawn order. Unverified people are placed too:
    they keep the place until they prove the address. A draw that is not due makes the job due
    then.
    """
    if not job.awaits_draw or job.draw_at is None or job.status is JobStatus.DRAFT:
        return None
    if job.draw_at > job.now:
        job.note_due(job.draw_at)
        return None
    read = [job.attach(each) for each in job.source.waiting(job)]
    people = {each.id: each for each in read if each.ticket is not None}  # not who has just lapsed
    seed, job.drawn_at = draw.seed(bytes(job.chain_head), logged_time(job.now)), job.now
    facts = {"seed": seed.hex(), "algorithm": ALGORITHM, "drawn": len(people)}
    entry = make_job_move(job, EventType.DRAWN, actor=SYSTEM, effective_at=job.draw_at, facts=facts)
    job.head_ticket = job.next_ticket
    why: Any = {"cause_seq": entry.seq, "effective_at": job.draw_at}
    for application_id in drawn_order(seed, job.id, people):
        application = people[application_id]
        application.ticket, application.tie = draw_ticket(job, 0)
        make_move(job, application, Move.PLACE, **why)
    job.freed_by.clear()  # the draw opens the seats
    write(job)  # seats are filled in the order that is written
    return entry.seq


# The most people that one transaction closes out.
SLICE = 5_000
# The most instants that one transaction settles in a sandbox, and the most events of a job there.
MOST_INSTANTS, MOST_SANDBOX_EVENTS = 100, 20_000
SANDBOX_JOB_FULL = ngettext_lazy(
    "The log of a job in a sandbox holds at most {limit} event. Create another job to go on.",
    "The log of a job in a sandbox holds at most {limit} events. Create another job to go on.",
    "limit",
)


def settle_due(job: LockedJob, *, only_ends: bool = False) -> None:
    """Settle and write everything due at `job.now`.

    Leaves `next_due_at` exact; it is now if one transaction cannot pass all the turns. Does
    nothing for a closed job: the worker closes it out. Raises ClockMoving and SandboxFull, in a
    sandbox only. `only_ends`: the caller only ends an application or the job. A full job allows
    this, because the number of these events is limited.
    """
    if job.is_test:
        try:
            settle_each_instant(job)
        except SandboxFull:
            if not only_ends:
                raise
    elif job.is_due and job.status is not JobStatus.CLOSED:
        _settle_due_now(job)


def settle_each_instant(job: LockedJob) -> None:
    """Settle a job of a sandbox at each instant that something fell due.

    Everything is recorded at its own instant, so what follows from it falls due as it would have.
    Raises ClockMoving if more is due than one transaction settles; the job then stays due, and the
    decay worker continues. Raises SandboxFull if the log is full; then nothing is due any more.
    """
    if job.status is JobStatus.CLOSED:
        return
    job.settles_until = until = job.now
    if job.is_due:
        job.next_due_at = _first_instant(job)
    for _ in range(MOST_INSTANTS):
        if (at := _due_instant(job, until)) is None:
            break
        job.now = max(at, job.last_event_at)
        _settle_due_now(job)
        if job.is_walk_unfinished:
            break
    job.now = until
    _leave_rest(job)


def _due_instant(job: LockedJob, until: datetime) -> datetime | None:
    """Return the next instant to settle, or None if there is none up to a time."""
    is_over = job.seq >= MOST_SANDBOX_EVENTS or job.status is JobStatus.CLOSED
    due = job.next_due_at
    return None if is_over or due is None or due > until else due


def _leave_rest(job: LockedJob) -> None:
    """Leave what a settlement has not done. Raises ClockMoving and SandboxFull.

    A job that has closed meanwhile is closed out by the worker.
    """
    if job.status is JobStatus.CLOSED:
        return
    if job.seq >= MOST_SANDBOX_EVENTS:
        job.next_due_at, job.is_full = None, True
        write(job)
        raise SandboxFull(why=SANDBOX_JOB_FULL, limit=MOST_SANDBOX_EVENTS)
    if job.is_due:
        write(job)  # due again now, behind everything that is due already
        raise ClockMoving


def _first_instant(job: LockedJob) -> datetime | None:
    """Return the first instant to settle after the last event, before which everything is settled.

    The job's row may have a later time (`database_due_at`). If a seat is free, people may still
    have turns to pass at the last event's own instant.
    """
    if job.status is JobStatus.OPEN and job.unheld_seats and job.people_waiting:
        return job.last_event_at
    return job.source.next_instant(job)


def _settle_due_now(job: LockedJob) -> None:
    if left_walk_unfinished(job) and (last := job.source.unanswered_pass(job)):
        job.freed_by.append(last)  # the last pass opened the next seat
    due = job.source.due(job)
    job.next_due_at = due.next_at
    if job.status is JobStatus.DRAFT and job.opens_at and job.opens_at <= job.now:
        change_job_status(job, JobStatus.OPEN, actor=SYSTEM, effective_at=job.opens_at)
        job.source.publish_form(job, actor=SYSTEM)
    closing = _due_closing(job)
    _end_overdue(job, due.people, until=closing or job.now)
    if closing:
        change_job_status(job, JobStatus.CLOSED, actor=SYSTEM, effective_at=closing)
    else:
        end_reserve_if_due(job)
        change_planned_seats(job, due.plans)
        fill_seats(job, cause_seq=draw_if_due(job))
    job.freed_by.clear()  # later promotions have causes of their own
    write(job)


def _due_closing(job: LockedJob) -> datetime | None:
    """Return the announced time of a job's closing if it has come.

    Nobody is offered a seat, and nothing is drawn, in a settlement that closes the job.
    """
    if job.status is JobStatus.DRAFT or job.closes_at is None or job.closes_at > job.now:
        return None
    return job.closes_at


def _end_overdue(job: LockedJob, people: list[Application], *, until: datetime) -> None:
    """Settle offers and proofs of an address that were overdue at `until`."""
    for application in [job.attach(each) for each in people]:
        deadline, misses = application.acknowledge_by, application.decay_count + 1
        if (deadline or application.verify_by or until) > until:
            continue
        if application.status == Status.WAITLIST:
            facts = {"reason": UNVERIFIED}
            make_move(
                job, application, Move.EXPIRE, effective_at=application.verify_by, facts=facts
            )
        elif job.policy.keeps_place(misses):
            places = {"places": job.policy.places_lost(misses)}
            make_move(job, application, Move.DECAY, effective_at=deadline, facts=places)
        else:
            make_move(job, application, Move.LAPSE, effective_at=deadline)


def close_out_batch(job: LockedJob) -> None:
    """Close out and write the next batch of a closed job's line.

    The job stays due until nobody is left.
    """
    cause, people = job.source.left_open(job, most=SLICE)
    for application in [job.attach(each) for each in people]:
        if application.ticket is not None:  # a miss can give a ticket beyond the next newcomer's
            job.head_ticket = min(application.ticket, job.next_ticket)
        make_move(job, application, Move.CLOSE_OUT, cause_seq=cause, effective_at=job.closed_at)
    job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
    write(job)


def settle_open_or_closed_job(job: LockedJob) -> int:
    """Settle a job, and return the number of events.

    If a sandbox's clock moved far, settle only part; the rest stays due.
    """
    before = job.seq
    with suppress(ClockMoving, SandboxFull):
        if job.status is JobStatus.CLOSED:
            close_out_batch(job)
        else:
            settle_due(job)
    return job.seq - before
