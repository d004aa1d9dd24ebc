"""Responses with log events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid5

from jobs.models import JobStatus
from pipeline.api.v1.outputs import Count, Hash
from pipeline.domain.states import ActorKind, EventType, Outcome, Status
from pipeline.models import Event
from pipeline.wording.sentences import Reader, sentence


class ActorRef(TypedDict):
    """An event's actor. The system has no id."""

    kind: Annotated[str, ActorKind]
    id: UUID | None


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
    hash: Hash


class ToldEventOut(EventOut):
    """An event in a job's log, with a sentence for its reader."""

    sentence: str


class FeedOut(TypedDict):
    """Events in commit order. The cursor is always present; the feed continues from it."""

    data: list[EventOut]
    next_cursor: str


def event_out(event: Event) -> EventOut:
    """Return a log event.

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
        "hash": bytes(event.hash).hex(),
    }


def event_with_sentence_out(event: Event, reader: Reader) -> ToldEventOut:
    """Return a log event with its sentence."""
    return {**event_out(event), "sentence": sentence(event, reader)}
