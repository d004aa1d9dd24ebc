"""Reads of companies' decisions on applications."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from pipeline.domain.states import EventType
from pipeline.models import DecisionNote, Event


class Decision(NamedTuple):
    """A company's decision: the log holds the code of its reason, but not its note."""

    outcome: str
    reason: str | None
    note: str | None
    actor_kind: str
    actor_id: UUID | None
    seq: int
    at: datetime


def decisions_on(application_ids: Collection[UUID]) -> dict[UUID, Decision]:
    """Return the last decision on each application that has one, in two queries."""
    kept = DecisionNote.objects.filter(application_id__in=application_ids)
    notes = {(note.application_id, note.seq): note.text for note in kept}
    events = Event.objects.filter(application_id__in=application_ids, event=EventType.REMOVED)
    return {
        event.application_id: Decision(
            outcome=str(event.outcome),
            reason=event.data.get("reason"),
            note=notes.get((event.application_id, event.seq)),
            actor_kind=event.actor_kind,
            actor_id=event.actor_id,
            seq=event.seq,
            at=event.at,
        )
        for event in events.order_by("seq")
        if event.application_id
    }
