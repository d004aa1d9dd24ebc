"""Responses about applications."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from jobs.policies import misses_left
from pipeline.api.v1.outputs import Count, output_if_ahead
from pipeline.domain.states import Outcome, Status
from pipeline.selectors.applications import SeenApplication


class JobRef(TypedDict):
    """The job of an application."""

    id: UUID
    title: str


class ApplicantRef(TypedDict):
    """An applicant, under the name given with this application."""

    id: UUID
    name: str
    email: str


class ApplicationOut(TypedDict):
    """One person's application to one job, and its current state."""

    id: UUID
    job: JobRef
    applicant: ApplicantRef
    status: Annotated[str, Status]
    verified: bool
    outcome: Annotated[str, Outcome] | None
    position: int | None
    people_waiting: Count
    decay_count: Count
    decays_left: Count | None
    acknowledge_by: datetime | None
    eligible_at: datetime | None
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    ended_at: datetime | None
    time_in_status_seconds: Count
    server_time: datetime


def application_out(seen: SeenApplication) -> ApplicationOut:
    """Return an application under the name given with it."""
    row = seen.application
    return {
        "id": row.id,
        "job": {"id": row.job_id, "title": seen.job_title},
        "applicant": {"id": row.applicant_id, "name": row.name, "email": seen.email},
        "status": str(row.status),
        "verified": row.is_verified,
        "outcome": row.outcome and str(row.outcome),
        "position": seen.position,
        "people_waiting": seen.people_waiting,
        "decay_count": row.decay_count,
        "decays_left": misses_left(seen.max_decays, row.decay_count),
        "acknowledge_by": row.acknowledge_by,
        "eligible_at": output_if_ahead(row.eligible_at, seen.now),
        "applied_at": row.applied_at,
        "promoted_at": row.promoted_at,
        "acknowledged_at": row.acknowledged_at,
        "ended_at": row.ended_at,
        "time_in_status_seconds": max(0, int((seen.now - row.status_since).total_seconds())),
        "server_time": seen.now,
    }
