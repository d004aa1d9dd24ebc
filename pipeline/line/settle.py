"""Settlement of a job: overdue offers decay or lapse, then free seats are filled.

Applications that were not verified in time lapse too, without a miss.

A closed job is closed out instead, in batches.
"""

from __future__ import annotations

from jobs.models import JobStatus
from pipeline.domain.states import UNVERIFIED, EventType, Move, Status
from pipeline.line import sql
from pipeline.line.fill import fill_seats
from pipeline.line.lock import application_read_under_lock
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_move
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.line.write import write
from pipeline.models import Application, Event

# The most people that one transaction closes out.
SLICE = 5_000


def settle_due(job: LockedJob) -> int:
    """Settle and write everything due at `job.now`, and return the number of events.

    Leaves `next_due_at` exact. Does nothing for a closed job: the worker closes it out.
    """
    if not job.is_due or job.status is JobStatus.CLOSED:
        return 0
    before = job.seq
    moment = {"job": job.id, "now": job.now}
    rows, next_deadline = fetch_in_one_trip(sql.READ_DUE, sql.READ_NEXT_DEADLINE, parameters=moment)
    overdue = [job.attach(application_read_under_lock(row)) for row in rows]
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
    fill_seats(job)
    job.freed_by.clear()  # later promotions have causes of their own
    write(job)
    return job.seq - before


def close_out(job: LockedJob) -> int:
    """Close out and write the next batch of a closed job's line, and return the number of events.

    The job stays due until nobody is left.
    """
    before = job.seq
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
    return job.seq - before


def _read_to_settle(statement: str, job: LockedJob, *, most: int) -> list[Application]:
    (rows,) = fetch_in_one_trip(
        statement, parameters={"job": job.id, "head": job.head_ticket, "most": most}
    )
    return [job.attach(application_read_under_lock(row)) for row in rows]
