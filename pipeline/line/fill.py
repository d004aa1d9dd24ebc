"""Giving free seats to the next in line, strictly in order."""

from __future__ import annotations

from typing import Any

from django.db import connection

from jobs.models import JobStatus
from pipeline.domain.states import Move, Status
from pipeline.line import sql
from pipeline.line.lock import as_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.tickets import head_after_promoting
from pipeline.models import Application


def fill_seats(job: LockedJob, *, cause_seq: int | None = None) -> int:
    """Offer every free seat of an open job to the first eligible people; says how many.

    Each promotion names the event that opened its seat, oldest first; else `cause_seq`. If seats
    stay free because who waits is in a cool-down, the job becomes due when the first of them ends.
    """
    if job.status is not JobStatus.OPEN or not job.seats_free or not job.waitlist_count:
        return 0
    chosen, first_skipped = _next_in_line(job)
    if chosen:
        last = chosen[-1].ticket or 0
        for application in chosen:
            cause = job.freed_by.popleft() if job.freed_by else cause_seq
            job.move(application, Move.PROMOTE, cause_seq=cause)
        job.head_ticket = head_after_promoting(job, last, first_skipped)
    if job.seats_free and job.waitlist_count:
        _await_cooldown(job)
    return len(chosen)


def _next_in_line(job: LockedJob) -> tuple[list[Application], int | None]:
    rows = _read(job, sql.READ_NEXT_IN_LINE, head=job.head_ticket, seats=job.seats_free)
    chosen = [job.meet(as_application(row[:-1])) for row in rows]
    return chosen, rows[0][-1] if rows else None


def _await_cooldown(job: LockedJob) -> None:
    ends = [end for (end,) in _read(job, sql.READ_NEXT_COOLDOWN) if end]
    ends += [
        person.eligible_at
        for person in job.changed.values()
        if person.status == Status.WAITLIST and person.eligible_at
    ]
    if ends:
        job.due(min(ends))


def _read(job: LockedJob, statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"job": job.id, "now": job.now, **parameters})
        return cursor.fetchall()
