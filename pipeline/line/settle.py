"""Settlement of a job: overdue offers decay or lapse, planned seats open, free seats are filled.

If the order is drawn by lot, the draw comes before the first seat is filled.

Applications that were not verified in time lapse too, without a miss.

A closed job is closed out instead, in batches. A sandbox's job is settled as if the decay worker
had run at every single deadline, because the passing of time is not an outage there.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from jobs.models import JobStatus
from pipeline.domain.errors import ClockMoving, SandboxFull
from pipeline.domain.states import UNVERIFIED, EventType, Move, Status
from pipeline.line import sql
from pipeline.line.draw import draw_if_due
from pipeline.line.fill import fill_seats, left_walk_unfinished, take_up_walk
from pipeline.line.lock import locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_move
from pipeline.line.planned_seats import change_planned_seats
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.line.write import write
from pipeline.models import Application, Event

# The most people that one transaction closes out.
SLICE = 5_000
# The most instants that one transaction settles in a sandbox, and the most events of a job there.
MOST_INSTANTS, MOST_SANDBOX_EVENTS = 100, 20_000
SANDBOX_JOB_FULL = (
    f"The log of a job in a sandbox holds at most {MOST_SANDBOX_EVENTS:,} events. Create another"
    " job to go on."
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
        if job.seq >= MOST_SANDBOX_EVENTS or not job.next_due_at or job.next_due_at > until:
            break
        job.now = max(job.next_due_at, job.last_event_at)
        _settle_due_now(job)
        if job.is_walk_unfinished:
            break
    job.now = until
    if job.seq >= MOST_SANDBOX_EVENTS:
        job.next_due_at, job.is_full = None, True
        write(job)
        raise SandboxFull(why=SANDBOX_JOB_FULL)
    if job.is_due:
        write(job)  # due again now, behind everything that is due already
        raise ClockMoving


def _first_instant(job: LockedJob) -> datetime | None:
    """Return the first instant to settle after the last event, before which everything is settled.

    The job's row may have a later time (`database_due_at`). If a seat is free, people may still
    have turns to pass at the last event's own instant.
    """
    if job.status is JobStatus.OPEN and job.seats_free and job.people_waiting:
        return job.last_event_at
    since: Any = {"job": job.id, "now": job.last_event_at}
    found = fetch_in_one_trip(sql.READ_NEXT_DEADLINE, sql.READ_NEXT_HELD, parameters=since)
    return min((at for ((at,),) in found if at), default=None)


def _settle_due_now(job: LockedJob) -> None:
    if left_walk_unfinished(job):
        take_up_walk(job)
    moment = {"job": job.id, "now": job.now}
    rows, next_deadline, planned = fetch_in_one_trip(
        sql.READ_DUE, sql.READ_NEXT_DEADLINE, sql.READ_DUE_SEATS, parameters=moment
    )
    overdue = [job.attach(locked_application(row)) for row in rows]
    ((job.next_due_at,),) = next_deadline
    for application in overdue:
        if application.status == Status.WAITLIST:
            facts = {"reason": UNVERIFIED}
            make_move(
                job, application, Move.EXPIRE, effective_at=application.verify_by, facts=facts
            )
            continue
        deadline, misses = application.acknowledge_by, application.decay_count + 1
        if job.policy.keeps_place(misses):
            places = {"places": job.policy.places_lost(misses)}
            make_move(job, application, Move.DECAY, effective_at=deadline, facts=places)
        else:
            make_move(job, application, Move.LAPSE, effective_at=deadline)
    change_planned_seats(job, planned)
    fill_seats(job, cause_seq=draw_if_due(job))
    job.freed_by.clear()  # later promotions have causes of their own
    write(job)


def settle_closed_job(job: LockedJob) -> None:
    """Close out and write the next batch of a closed job's line.

    The job stays due until nobody is left.
    """
    closings = Event.objects.filter(job_id=job.id, application_id=None, event=EventType.JOB_CLOSED)
    cause = closings.values_list("seq", flat=True).get()
    people = _read_to_settle(sql.READ_PENDING, job, most=SLICE)
    people += _read_to_settle(sql.READ_WAITING, job, most=SLICE - len(people))
    for application in people:
        if application.ticket is not None:  # a miss can give a ticket beyond the next newcomer's
            job.head_ticket = min(application.ticket, job.next_ticket)
        make_move(job, application, Move.CLOSE_OUT, cause_seq=cause, effective_at=job.closed_at)
    job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
    write(job)


def _read_to_settle(statement: str, job: LockedJob, *, most: int) -> list[Application]:
    (rows,) = fetch_in_one_trip(
        statement, parameters={"job": job.id, "head": job.head_ticket, "most": most}
    )
    return [job.attach(locked_application(row)) for row in rows]


def settle_open_or_closed_job(job: LockedJob) -> int:
    """Settle a job, and return the number of events.

    If a sandbox's clock moved far, settle only part; the rest stays due.
    """
    before = job.seq
    with suppress(ClockMoving, SandboxFull):
        if job.status is JobStatus.CLOSED:
            settle_closed_job(job)
        else:
            settle_due(job)
    return job.seq - before
