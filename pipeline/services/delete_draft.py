"""Deletion of a job that was never opened."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction

from jobs.models import JobPosting, JobStatus, Retention
from pipeline.domain.errors import IllegalJobMove, JobNotFound
from pipeline.domain.states import Actor
from pipeline.line.lock import lock_job
from pipeline.models import ChangeKind, JobReference, PlannedSeats, SavedView
from pipeline.services.changes import record_change

security = logging.getLogger("security")


@transaction.atomic(durable=True)
def delete_draft(*, job_id: UUID, actor: Actor) -> None:
    """Delete a draft: its texts and everything that the company attached to it.

    The job's row and its log stay, as the log is append-only: ids and numbers, no text. They still
    verify, but nobody can read, change or open a job without a posting. Raises IllegalJobMove if
    the job has ever been opened, JobNotFound.
    """
    job = lock_job(job_id)
    if job.status is not JobStatus.DRAFT:
        raise IllegalJobMove(status=job.status.value, verb="DELETE")
    for texts in (SavedView, JobReference, Retention, PlannedSeats):
        texts.objects.filter(job_id=job_id).delete()
    deleted, _ = JobPosting.objects.filter(job_id=job_id).delete()
    if not deleted:
        raise JobNotFound
    record_change(ChangeKind.JOB_DELETED, company_id=job.company_id, job_id=job_id)
    ids = {"company": str(job.company_id), "job": str(job_id), "actor": str(actor.id)}
    security.info("draft.deleted", extra=ids)
