"""Closing out who still waits, or was offered a seat, when a job has closed."""

from __future__ import annotations

from django.db import connection

from pipeline.domain.states import EventType, Move
from pipeline.line import sql
from pipeline.line.lock import as_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.write import write
from pipeline.models import Application, Event

SLICE = 5_000
"""How many people one transaction closes out at most."""


def close_out(job: LockedJob) -> int:
    """Close out the next slice of a closed job's line and write it; says how many events that took.

    The job stays due at once until nobody is left.
    """
    before = job.seq
    cause = _seq_of_closing(job)
    for application in _next_slice(job):
        if application.ticket is not None:  # a miss can give one beyond the next newcomer's
            job.head_ticket = min(application.ticket, job.next_ticket)
        job.move(application, Move.CLOSE_OUT, cause_seq=cause, effective_at=job.closed_at)
    job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
    write(job)
    return job.seq - before


def _seq_of_closing(job: LockedJob) -> int:
    events = Event.objects.filter(job_id=job.id, application_id=None, event=EventType.JOB_CLOSED)
    return events.values_list("seq", flat=True).get()


def _next_slice(job: LockedJob) -> list[Application]:
    pending = _read(sql.READ_PENDING, job, most=SLICE)
    return pending + _read(sql.READ_WAITING, job, most=SLICE - len(pending))


def _read(statement: str, job: LockedJob, *, most: int) -> list[Application]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"job": job.id, "head": job.head_ticket, "most": most})
        return [job.meet(as_application(row)) for row in cursor.fetchall()]
