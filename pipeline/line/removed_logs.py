"""Logs that were removed from the database, and so can be neither read nor continued."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobs.models import Job, JobStatus
from pipeline.domain.errors import LogArchived
from pipeline.models import RemovedLog


def removal_time(job: Job) -> datetime | None:
    """Return when a job's log was removed, or None. Takes one query, none unless it is closed."""
    if job.status != JobStatus.CLOSED:
        return None
    return RemovedLog.objects.filter(job_id=job.id).values_list("removed_at", flat=True).first()


def refuse(job_id: UUID) -> None:
    """Refuse what needs a job's log if it was removed. Raises LogArchived. Takes one query.

    Reads call it where they find no event: a log always has one. A change calls it for a closed
    job without people, because only such logs are removed.
    """
    found = RemovedLog.objects.filter(job_id=job_id).values_list("removed_at", flat=True).first()
    if found:
        raise LogArchived(on=found)


def refuse_known(job: Job) -> None:
    """Do the same for a job that is known: without a query unless it is closed."""
    if job.status == JobStatus.CLOSED:
        refuse(job.id)
