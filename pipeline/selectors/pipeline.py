"""Reads of a job's whole pipeline as one picture."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from jobs.models import Job
from pipeline.selectors.applications import (
    SeenApplication,
    active_applications_in,
    pending_applications_in,
    queued_applications_of,
)
from pipeline.selectors.instants import one_instant
from pipeline.selectors.jobs import read_job
from pipeline.selectors.paging import Page


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A job, everybody who holds one of its seats, and the front of its waitlist."""

    job: Job
    active: list[SeenApplication]
    pending: list[SeenApplication]
    waitlist: Page[SeenApplication]


def pipeline_of(job_id: UUID, *, limit: int) -> Pipeline:
    """Return a job's pipeline as of one instant, in four queries. Raises JobNotFound."""
    with one_instant():
        return Pipeline(
            job=read_job(job_id),
            active=active_applications_in(job_id),
            pending=pending_applications_in(job_id),
            waitlist=queued_applications_of(job_id, limit=limit),
        )
