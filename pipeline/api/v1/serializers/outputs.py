"""The shapes of what goes out: plain dictionaries, typed, because a page holds hundreds of them.

A value that there is not is None, never missing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID, uuid5

from applicants.models import Applicant
from jobs.models import Company, Job
from jobs.policies import Policy
from pipeline.models import Event
from pipeline.replay import Line, Place
from pipeline.selectors.applications import Seen
from pipeline.verify import Verdict


class CompanyRef(TypedDict):
    id: UUID
    name: str


class JobRef(TypedDict):
    id: UUID
    title: str


class ApplicantRef(TypedDict):
    id: UUID
    name: str
    email: str


class JobOut(TypedDict):
    id: UUID
    company: CompanyRef
    title: str
    description: str
    location: str
    status: str
    capacity: int
    active_count: int
    pending_count: int
    waitlist_count: int
    seats_free: int
    policy: dict[str, Any]
    seq: int
    opened_at: datetime | None
    closed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ApplicationOut(TypedDict):
    id: UUID
    job: JobRef
    applicant: ApplicantRef
    status: str
    outcome: str | None
    position: int | None
    people_waiting: int
    decay_count: int
    decays_left: int | None
    acknowledge_by: datetime | None
    eligible_at: datetime | None
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    ended_at: datetime | None
    time_in_status_seconds: int
    server_time: datetime


class ActorRef(TypedDict):
    kind: str
    id: UUID | None


class EventOut(TypedDict):
    seq: int
    id: UUID
    job_id: UUID
    application_id: UUID | None
    event: str
    from_status: str | None
    to_status: str | None
    outcome: str | None
    actor: ActorRef
    cause_seq: int | None
    policy_version: int
    at: datetime
    effective_at: datetime
    data: dict[str, Any]
    hash: str


def job_out(job: Job) -> JobOut:
    """A job that was read with its posting and its company."""
    posting = job.posting
    return {
        "id": job.id,
        "company": {"id": job.company_id, "name": job.company.name},
        "title": posting.title,
        "description": posting.description,
        "location": posting.location,
        "status": job.status,
        "capacity": job.capacity,
        "active_count": job.active_count,
        "pending_count": job.pending_count,
        "waitlist_count": job.waitlist_count,
        "seats_free": job.seats_free,
        "policy": policy_out(job.policy, job.policy_version),
        "seq": job.seq,
        "opened_at": job.opened_at,
        "closed_at": job.closed_at,
        "created_at": job.created_at,
        "updated_at": max(job.last_event_at, posting.updated_at),
    }


def policy_out(policy: Policy, version: int) -> dict[str, Any]:
    """A policy and its version."""
    return policy.values() | {"version": version}


def application_out(seen: Seen) -> ApplicationOut:
    """An application, for its company or for whose it is: the name is the one given with it."""
    row = seen.application
    return {
        "id": row.id,
        "job": {"id": row.job_id, "title": seen.job_title},
        "applicant": {"id": row.applicant_id, "name": row.name, "email": seen.email},
        "status": str(row.status),
        "outcome": row.outcome and str(row.outcome),
        "position": seen.position,
        "people_waiting": seen.people_waiting,
        "decay_count": row.decay_count,
        "decays_left": Policy(max_decays=seen.max_decays).misses_left(row.decay_count),
        "acknowledge_by": row.acknowledge_by,
        "eligible_at": _if_ahead(row.eligible_at, seen.now),
        "applied_at": row.applied_at,
        "promoted_at": row.promoted_at,
        "acknowledged_at": row.acknowledged_at,
        "ended_at": row.ended_at,
        "time_in_status_seconds": max(0, int((seen.now - row.status_since).total_seconds())),
        "server_time": seen.now,
    }


def event_out(event: Event) -> EventOut:
    """A row of the log. Its id is made from its place, since row ids count everybody's events."""
    return {
        "seq": event.seq,
        "id": uuid5(event.job_id, str(event.seq)),
        "job_id": event.job_id,
        "application_id": event.application_id,
        "event": event.event,
        "from_status": event.from_status,
        "to_status": event.to_status,
        "outcome": event.outcome,
        "actor": {"kind": event.actor_kind, "id": event.actor_id},
        "cause_seq": event.cause_seq,
        "policy_version": event.policy_version,
        "at": event.at,
        "effective_at": event.effective_at,
        "data": event.data,
        "hash": bytes(event.hash).hex(),
    }


def line_out(line: Line, *, as_of: datetime, server_time: datetime) -> dict[str, Any]:
    """A line as it stood at some moment."""
    return {
        "job_id": line.job_id,
        "as_of": as_of,
        "seq": line.seq,
        "status": line.status,
        "capacity": line.capacity,
        "policy": policy_out(line.policy, line.policy_version),
        "active": [_place_out(place, as_of) for place in line.active],
        "pending": [_place_out(place, as_of) for place in line.pending],
        "waitlist": [_place_out(place, as_of) for place in line.waitlist],
        "server_time": server_time,
    }


def _place_out(place: Place, as_of: datetime) -> dict[str, Any]:
    return {
        "application_id": place.application_id,
        "status": place.status.value,
        "position": place.position,
        "decay_count": place.decay_count,
        "acknowledge_by": place.acknowledge_by,
        "eligible_at": _if_ahead(place.eligible_at, as_of),
        "applied_at": place.applied_at,
        "promoted_at": place.promoted_at,
        "acknowledged_at": place.acknowledged_at,
        "status_since": place.status_since,
    }


def verdict_out(verdict: Verdict, *, with_differences: bool) -> dict[str, Any]:
    """What verifying a log found; the differences name applications, so not everybody sees them."""
    return {
        "chain": verdict.chain,
        "first_bad_seq": verdict.first_bad_seq,
        "head": {"seq": verdict.head_seq, "hash": verdict.head_hash},
        "replay_matches": verdict.replay_matches,
        "differences": verdict.differences if with_differences else None,
        "known": verdict.known,
    }


def company_out(company: Company) -> dict[str, Any]:
    """A company, for itself."""
    return {"id": company.id, "name": company.name, "created_at": company.created_at}


def person_out(applicant: Applicant) -> dict[str, Any]:
    """A person, under the name that the reader may know."""
    return {
        "id": applicant.id,
        "name": applicant.name or None,
        "email": applicant.email,
        "created_at": applicant.created_at,
    }


def _if_ahead(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment is not None and moment > now else None
