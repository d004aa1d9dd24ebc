"""Responses about a job's line: pipeline, replay and verification."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from jobs.models import JobStatus
from pipeline.api.v1.applications.outputs import ApplicationOut
from pipeline.api.v1.jobs.outputs import JobOut, PolicyOut, policy_out
from pipeline.api.v1.outputs import Count, Hash, PageOf, output_if_ahead
from pipeline.audit.replay import Line
from pipeline.audit.verify import Verdict
from pipeline.domain.states import Status
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.past_states import PastPlace


class PlaceOut(TypedDict):
    """One application's place in the line at a given moment."""

    application_id: UUID
    status: Annotated[str, Status]
    verified: bool
    position: int | None
    decay_count: Count
    acknowledge_by: datetime | None
    eligible_at: datetime | None
    not_before: datetime | None
    accept_until: datetime | None
    pass_next: bool
    passes_used: Count
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    status_since: datetime


class LineOut(TypedDict):
    """A job's line at a given moment."""

    job_id: UUID
    as_of: datetime
    seq: Count
    status: Annotated[str, JobStatus]
    capacity: Count
    policy: PolicyOut
    active: list[PlaceOut]
    pending: list[PlaceOut]
    waitlist: list[PlaceOut]
    next_cursor: str | None
    server_time: datetime


class HeadOut(TypedDict):
    """The last event of a log."""

    seq: Count
    hash: Hash


class VerdictOut(TypedDict):
    """The result of verifying a log."""

    chain: Annotated[str, ("enum", ("ok", "broken"))]
    first_bad_seq: int | None
    head: HeadOut
    replay_matches: bool
    differences: list[str] | None
    known: bool | None


class PipelineOut(TypedDict):
    """A job, the people in its seats and the front of its waitlist, all as of one instant."""

    job: JobOut
    active: list[ApplicationOut]
    pending: list[ApplicationOut]
    waitlist: PageOf[ApplicationOut]


def line_out(line: Line, *, as_of: datetime, server_time: datetime) -> LineOut:
    """Return a line at a given moment."""
    return {
        "job_id": line.job_id,
        "as_of": as_of,
        "seq": line.seq,
        "status": line.status,
        "capacity": line.capacity,
        "policy": policy_out(line.policy, line.policy_version),
        "active": [_line_place_out(place, as_of) for place in line.active],
        "pending": [_line_place_out(place, as_of) for place in line.pending],
        "waitlist": [_line_place_out(place, as_of) for place in line.waitlist],
        "next_cursor": encode_cursor(line.seq, line.next_after) if line.next_after else None,
        "server_time": server_time,
    }


def _line_place_out(place: PastPlace, as_of: datetime) -> PlaceOut:
    return {
        "application_id": place.application_id,
        "status": place.status.value,
        "verified": place.is_verified,
        "position": place.position,
        "decay_count": place.decay_count,
        "acknowledge_by": place.acknowledge_by,
        "eligible_at": output_if_ahead(place.eligible_at, as_of),
        "not_before": output_if_ahead(place.not_before, as_of),
        "accept_until": output_if_ahead(place.accept_until, as_of),
        "pass_next": place.pass_next,
        "passes_used": place.passes_used,
        "applied_at": place.applied_at,
        "promoted_at": place.promoted_at,
        "acknowledged_at": place.acknowledged_at,
        "status_since": place.status_since,
    }


def line_verdict_out(verdict: Verdict, *, with_differences: bool) -> VerdictOut:
    """Return the result of verifying a log. The differences are optional: they name people."""
    return {
        "chain": verdict.chain,
        "first_bad_seq": verdict.first_bad_seq,
        "head": {"seq": verdict.head_seq, "hash": verdict.head_hash},
        "replay_matches": verdict.replay_matches,
        "differences": verdict.differences if with_differences else None,
        "known": verdict.known,
    }
