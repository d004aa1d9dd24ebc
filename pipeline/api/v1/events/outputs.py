"""Answers with rows of the log."""

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
    """The actor; the system has no id."""

    kind: Annotated[str, ActorKind]
    id: UUID | None


class EventOut(TypedDict):
    """A row of a job's log."""

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
    """A row of a job's log, and what it means for the one who reads it."""

    sentence: str


class FeedOut(TypedDict):
    """Events in the order of their commits. The cursor is always there: the feed goes on at it."""

    data: list[EventOut]
    next_cursor: str


def event_out(event: Event) -> EventOut:
    """Return a row of the log. Its id is made from its place: row ids span all companies."""
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
    """Return a row of the log with its sentence."""
    return {**event_out(event), "sentence": sentence(event, reader)}
