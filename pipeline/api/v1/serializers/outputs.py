"""Making what goes out: plain dictionaries, typed, because a page holds hundreds of them."""

from __future__ import annotations

from datetime import datetime
from typing import cast
from uuid import UUID, uuid5

from applicants.models import Applicant
from jobs.models import ApiKey, Company, Job
from jobs.policies import Policy
from pipeline.api.v1.serializers.shapes import (
    ApiKeyOut,
    ApplicationOut,
    CompanyOut,
    EventOut,
    JobOut,
    LineOut,
    PersonOut,
    PlaceOut,
    PolicyOut,
    ToldEventOut,
    VerdictOut,
)
from pipeline.api.v1.serializers.summary_shapes import ConversionOut, SummaryOut
from pipeline.audit.replay import Line
from pipeline.audit.verify import Verdict
from pipeline.models import Event
from pipeline.selectors.applications import Seen
from pipeline.selectors.past_states import Place
from pipeline.stats.job_totals import Conversion, Figures
from pipeline.wording.sentences import Reader, sentence


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


def policy_out(policy: Policy, version: int) -> PolicyOut:
    """A policy and its version."""
    return cast(PolicyOut, policy.values() | {"version": version})


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


def told_out(event: Event, reader: Reader) -> ToldEventOut:
    """A row of the log with its sentence."""
    return {**event_out(event), "sentence": sentence(event, reader)}


def line_out(line: Line, *, as_of: datetime, server_time: datetime) -> LineOut:
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


def _place_out(place: Place, as_of: datetime) -> PlaceOut:
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


def verdict_out(verdict: Verdict, *, with_differences: bool) -> VerdictOut:
    """What verifying a log found; the differences name applications, so not everybody sees them."""
    return {
        "chain": verdict.chain,
        "first_bad_seq": verdict.first_bad_seq,
        "head": {"seq": verdict.head_seq, "hash": verdict.head_hash},
        "replay_matches": verdict.replay_matches,
        "differences": verdict.differences if with_differences else None,
        "known": verdict.known,
    }


def company_out(company: Company) -> CompanyOut:
    """A company, for itself."""
    return {"id": company.id, "name": company.name, "created_at": company.created_at}


def api_key_out(key: ApiKey) -> ApiKeyOut:
    """A key of a company, for its owners: its beginning, by which they can tell it from others."""
    return {
        "id": key.id,
        "hint": key.hint,
        "name": key.name,
        "scopes": list(key.scopes),
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    }


def person_out(applicant: Applicant) -> PersonOut:
    """A person, under the name that the reader may know."""
    return {
        "id": applicant.id,
        "name": applicant.name or None,
        "email": applicant.email,
        "created_at": applicant.created_at,
    }


def _if_ahead(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment is not None and moment > now else None


def summary_out(job_id: UUID, figures: Figures) -> SummaryOut:
    """A job in numbers."""
    promotion, acknowledge = figures.to_promotion, figures.to_acknowledge
    return {
        "job_id": job_id,
        "counts_by_status": dict(figures.by_status),
        "counts_by_outcome": dict(figures.by_outcome),
        "average_seconds_to_promotion": promotion.average,
        "median_seconds_to_promotion": promotion.median,
        "p90_seconds_to_promotion": promotion.p90,
        "average_seconds_to_acknowledge": acknowledge.average,
        "median_seconds_to_acknowledge": acknowledge.median,
        "p90_seconds_to_acknowledge": acknowledge.p90,
        "decay_events": figures.decay_events,
        "lapse_events": figures.lapse_events,
        "acknowledgment_rate": figures.acknowledgment_rate,
        "conversion": _conversion_out(figures.conversion),
        "churn": figures.churn,
        "seats_freed": figures.seats_freed,
        "seat_idle_seconds": figures.seat_idle_seconds,
        "seat_idle_while_waiting_seconds": figures.seat_idle_while_waiting_seconds,
        "server_time": figures.now,
    }


def _conversion_out(conversion: Conversion) -> ConversionOut:
    return {
        "applied": conversion.applied,
        "seated": conversion.seated,
        "hired": conversion.hired,
        "applied_to_seated": conversion.applied_to_seated,
        "seated_to_hired": conversion.seated_to_hired,
        "applied_to_hired": conversion.applied_to_hired,
    }
