"""Read of a job's whole pipeline as of one instant."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from jobs.models import Job
from pipeline.domain.errors import JobNotFound
from pipeline.selectors.applications import SeenApplication, front_applications_of
from pipeline.selectors.jobs import WHOLE_JOB
from pipeline.selectors.page import Page


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A job with everyone who holds one of its seats, and the front of its waitlist."""

    job: Job
    active: list[SeenApplication]
    pending: list[SeenApplication]
    waitlist: Page[SeenApplication]


def pipeline_of(job_id: UUID, *, limit: int) -> Pipeline:
    """Return a job's pipeline as of one instant, in one round trip. Raises JobNotFound."""
    jobs, front = front_applications_of(job_id, WHOLE_JOB, limit=limit)
    if not jobs:
        raise JobNotFound
    return Pipeline(jobs[0], *front)
