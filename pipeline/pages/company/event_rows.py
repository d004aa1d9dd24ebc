"""Events of a log as a company reads them: a title, a sentence, a time and a tone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import NamedTuple

from pipeline.domain.states import EventType, Outcome, Status
from pipeline.models import Event
from pipeline.wording.sentences import Reader, sentence

TITLES: dict[EventType | Outcome | Status, tuple[str, str]] = {
    Outcome.HIRED: ("Hired", "good"),
    Outcome.REJECTED: ("Rejected", "bad"),
    Outcome.REMOVED: ("Removed", "plain"),
    EventType.APPLIED: ("Applied", "wait"),
    EventType.PROMOTED: ("Promoted: a seat was offered", "warn"),
    EventType.ACKNOWLEDGED: ("Confirmed the seat", "good"),
    EventType.DEADLINE_EXTENDED: ("Got more time", "warn"),
    EventType.DECAYED: ("Missed the deadline", "bad"),
    EventType.LAPSED: ("Missed once too often", "bad"),
    EventType.WITHDRAWN: ("Withdrew", "plain"),
    EventType.CLOSED_OUT: ("Let go: the job was closed", "plain"),
}
"""The title and the tone of what can happen to an application."""


class Told(NamedTuple):
    """One event in words."""

    title: str
    sentence: str
    at: datetime
    tone: str
    event: Event


def told(events: Iterable[Event], zone: tzinfo) -> list[Told]:
    """Events of applications in words, in their order; times in that zone."""
    return [_told(event, zone) for event in events]


def _told(event: Event, zone: tzinfo) -> Told:
    kind = EventType(event.event)
    key = Outcome(event.outcome) if kind is EventType.REMOVED and event.outcome else kind
    title, tone = TITLES[key]
    return Told(title, sentence(event, Reader.COMPANY, zone), event.at, tone, event)
