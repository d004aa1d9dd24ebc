"""Settling a job: overdue acknowledgements decay or lapse, then the free seats are filled."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from jobs.models import JobStatus
from pipeline.domain.states import Move
from pipeline.line import sql
from pipeline.line.fill import fill_seats
from pipeline.line.lock import as_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.write import write
from pipeline.models import Application


def settle_due(job: LockedJob) -> int:
    """Settle and write whatever is due at `job.now`; says how many events that took.

    Leaves `next_due_at` exact. A closed job has nothing to settle: the worker closes it out.
    """
    if not job.is_due or job.status is JobStatus.CLOSED:
        return 0
    before = job.seq
    overdue, job.next_due_at = _read_due(job)
    for application in overdue:
        _miss(job, application)
    fill_seats(job)
    job.freed_by.clear()  # who comes in later has a cause of their own, however late this settled
    write(job)
    return job.seq - before


def _read_due(job: LockedJob) -> tuple[list[Application], datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"{sql.READ_DUE}; {sql.READ_NEXT_DEADLINE}", {"job": job.id, "now": job.now})
        overdue = [job.meet(as_application(row)) for row in cursor.fetchall()]
        cursor.nextset()
        return overdue, cursor.fetchone()[0]


def _miss(job: LockedJob, application: Application) -> None:
    deadline, misses = application.acknowledge_by, application.decay_count + 1
    if job.policy.keeps_place(misses):
        places = job.policy.places_lost(misses)
        job.move(application, Move.DECAY, effective_at=deadline, facts={"places": places})
    else:
        job.move(application, Move.LAPSE, effective_at=deadline)
