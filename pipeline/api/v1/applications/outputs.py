"""Responses about applications."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.response import Response

from jobs.policies import misses_left_under_policy
from pipeline.api.v1.outputs import ActorRef, Count, output_if_ahead
from pipeline.domain.states import Outcome, Reason, Status
from pipeline.models import Application
from pipeline.selectors.applications import (
    ApplicationFacts,
    SeenApplication,
    seen_application_after_change,
)
from pipeline.selectors.decisions import decisions_on


class JobRef(TypedDict):
    """The job of an application."""

    id: UUID
    title: str


class ApplicantRef(TypedDict):
    """An applicant, under the name given with this application."""

    id: UUID
    name: str
    email: str


class DecisionOut(TypedDict):
    """A company's decision. Only the company sees its note."""

    outcome: Annotated[str, Outcome]
    reason: Annotated[str, Reason] | None
    note: str | None
    actor: ActorRef
    seq: Count
    at: datetime


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
    not_before: datetime | None
    accept_until: datetime | None
    pass_next: bool
    passes_used: Count
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    ended_at: datetime | None
    time_in_status_seconds: Count
    external_id: str | None
    metadata: dict[str, str] | None
    decision: DecisionOut | None
    server_time: datetime


class TotalOut(TypedDict):
    """The number of matching applications, counted up to 10,000; `exact` if that is all of them."""

    count: Count
    exact: bool


class ApplicationsOut(TypedDict):
    """A page of a job's applications. It can be shorter than `limit` although others follow."""

    data: list[ApplicationOut]
    next_cursor: str | None
    total: TotalOut | None


def application_out(
    seen: SeenApplication, *, private: bool = True, decision: DecisionOut | None = None
) -> ApplicationOut:
    """Return an application under the name given with it.

    Without `private`, for its applicant: without what the company attached or noted.
    """
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
        "decays_left": misses_left_under_policy(seen.max_decays, row.decay_count),
        "acknowledge_by": row.acknowledge_by,
        "eligible_at": output_if_ahead(row.eligible_at, seen.now),
        "not_before": output_if_ahead(row.not_before, seen.now),
        "accept_until": output_if_ahead(row.accept_until, seen.now),
        "pass_next": row.pass_next,
        "passes_used": row.passes_used,
        "applied_at": row.applied_at,
        "promoted_at": row.promoted_at,
        "acknowledged_at": row.acknowledged_at,
        "ended_at": row.ended_at,
        "time_in_status_seconds": max(0, int((seen.now - row.status_since).total_seconds())),
        "external_id": seen.external_id if private else None,
        "metadata": (seen.metadata or {}) if private else None,
        "decision": decision,
        "server_time": seen.now,
    }


def applications_out(
    rows: Sequence[SeenApplication], *, private: bool = True, with_decisions: bool = False
) -> list[ApplicationOut]:
    """Return several applications, on request with the decisions on them (two queries)."""
    ids = [seen.application.id for seen in rows]
    decisions: dict[UUID, DecisionOut] = {
        application_id: {
            "outcome": decision.outcome,
            "reason": decision.reason,
            "note": decision.note if private else None,
            "actor": {"kind": decision.actor_kind, "id": decision.actor_id if private else None},
            "seq": decision.seq,
            "at": decision.at,
        }
        for application_id, decision in (decisions_on(ids) if with_decisions else {}).items()
    }
    return [
        application_out(seen, private=private, decision=decisions.get(seen.application.id))
        for seen in rows
    ]


def application_answer(
    facts: ApplicationFacts, application: Application, *, private: bool = False
) -> Response:
    """Return an application that a service has just changed."""
    seen = seen_application_after_change(facts, application)
    return Response(application_out(seen, private=private))
