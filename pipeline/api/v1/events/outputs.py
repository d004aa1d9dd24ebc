"""Responses with log events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid5

from jobs.models import JobStatus
from pipeline.api.v1.applications.outputs import ApplicationOut, application_out
from pipeline.api.v1.outputs import ActorRef, Count, Hash
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.models import Event
from pipeline.selectors.applications import applications_by_id
from pipeline.wording.sentences import Reader, sentence


class EventOut(TypedDict):
    """An event in a job's log."""

    seq: Count
    id: UUID
    job_id: UUID
    application_id: UUID | None
    event: Annotated[str, EventType]
    from_status: Annotated[str, Status, JobStatus] | None
    to_status: Annotated[str, Status, JobStatus] | None
    outcome: Annotated[str, Outcome] | None
    actor: ActorRef
    cause_seq: Count | None
    policy_version: Count
    at: datetime
    effective_at: datetime
    data: dict[str, Any]
    prev_hash: Hash
    hash: Hash
    application: ApplicationOut | None


class ToldEventOut(EventOut):
    """An event in a job's log, with a sentence for its reader."""

    sentence: str


class FeedOut(TypedDict):
    """Events in commit order. The cursor is always present; the feed continues from it."""

    data: list[EventOut]
    next_cursor: str


def event_out(event: Event, application: ApplicationOut | None = None) -> EventOut:
    """Return a log event, on request with its application as it is now.

    Its id is made from its place in the log, because row ids span all companies.
    """
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
        "prev_hash": bytes(event.prev_hash).hex(),
        "hash": bytes(event.hash).hex(),
        "application": application,
    }


def events_out(events: Sequence[Event], *, with_applications: bool = False) -> list[EventOut]:
    """Return log events, on request with their applications as they are now (one query)."""
    ids = {event.application_id for event in events if event.application_id}
    seen = applications_by_id(ids) if with_applications and ids else {}
    found = {id_: application_out(each) for id_, each in seen.items()}
    return [event_out(event, found.get(event.application_id)) for event in events]


def event_with_sentence_out(event: Event, reader: Reader) -> ToldEventOut:
    """Return a log event with its sentence."""
    return {**event_out(event), "sentence": sentence(event, reader)}
