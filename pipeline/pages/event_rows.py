"""Events of the log as rows of a timeline: a title, a sentence, the actor and a tone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from pipeline.domain.states import VIA_KEY
from pipeline.models import Event
from pipeline.selectors.timelines import EventTree, read_actors, read_names
from pipeline.wording import sentences
from pipeline.wording.events import ACTOR_WORDS, find_words
from pipeline.wording.sentences import Reader


@dataclass(slots=True)
class EventRow:
    """One event of a timeline. In a job's timeline it also holds the events that it caused."""

    event: Event
    title: str
    tone: str
    sentence: str
    name: str = ""  # the person's; empty for an event of the job itself
    actor: str = ""
    children: list[EventRow] = field(default_factory=list)
    more: int = 0  # further events that it caused

    @property
    def at(self) -> datetime:
        """Time at which the event was recorded."""
        return self.event.at

    @property
    def hash(self) -> str:
        """Hash of the event, as 64 hexadecimal digits."""
        return bytes(self.event.hash).hex()


def describe_person(events: Iterable[Event]) -> list[EventRow]:
    """Describe events of one person's applications, in the given order and without names."""
    zone = timezone.get_current_timezone()
    events, rows = list(events), []
    kinds = _place_kinds(events)
    for event in events:
        words = find_words(event)
        cause = kinds.get((event.job_id, event.cause_seq))
        text = sentences.compose(event, Reader.COMPANY, zone, cause=cause)
        rows.append(EventRow(event, words.company, words.tone, text))
    return rows


def describe_job(trees: Iterable[EventTree]) -> list[EventRow]:
    """Describe events of a job's log with the people's names, in at most three queries."""
    trees = list(trees)
    events = [event for tree in trees for event in (tree.event, *tree.children)]
    names = read_names(event.application_id for event in events)
    actors = read_actors({e.actor_id for e in events if e.actor_id and e.actor_kind == "COMPANY"})
    zone, kinds = timezone.get_current_timezone(), _place_kinds(events)

    def event_row(event: Event) -> EventRow:
        words = find_words(event)
        cause = kinds.get((event.job_id, event.cause_seq))
        known = actors.get(event.actor_id) if event.actor_id else None
        actor = VIA_KEY if VIA_KEY in event.data else event.actor_kind
        return EventRow(
            event=event,
            title=words.log,
            tone=words.tone,
            sentence=sentences.compose(event, Reader.COMPANY, zone, cause=cause),
            name=names.get(event.application_id, "") if event.application_id else "",
            actor=_("by %(name)s") % {"name": known} if known else str(ACTOR_WORDS[actor]),
        )

    rows = []
    for tree in trees:
        root = event_row(tree.event)
        root.children, root.more = [event_row(child) for child in tree.children], tree.more
        rows.append(root)
    return rows


def _place_kinds(events: Iterable[Event]) -> dict[tuple[UUID, int | None], str]:
    return {(event.job_id, event.seq): event.event for event in events}


def describe(event: Event) -> EventRow:
    """Describe one event of a job's log, in at most three queries."""
    return describe_job([EventTree(event)])[0]
