"""Events of a log as a company reads them: a title, a sentence, a time and a tone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import NamedTuple

from pipeline.models import Event
from pipeline.wording.event_words import words_of_event
from pipeline.wording.sentences import Reader, sentence


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
    words = words_of_event(event)
    text = sentence(event, Reader.COMPANY, zone)
    return Told(words.company, text, event.at, words.tone, event)
