"""Events of a log as the company reads them: who, what, through whom, and how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from pipeline.domain.states import ActorKind
from pipeline.models import Event
from pipeline.selectors.history import Tree, actors_of, names_of
from pipeline.wording.event_words import ACTOR_WORDS, words_of_event
from pipeline.wording.sentences import Reader, sentence


@dataclass(slots=True)
class Told:
    """An event in words, and under it what it set off."""

    event: Event
    name: str
    """Of whom it speaks; empty when it speaks of the job."""
    title: str
    sentence: str
    actor: str
    tone: str
    children: list[Told] = field(default_factory=list)
    more: int = 0

    @property
    def hash(self) -> str:
        """The event's hash, in full."""
        return bytes(self.event.hash).hex()


def tell(trees: Iterable[Tree]) -> list[Told]:
    """The events in words, with names, in at most three queries."""
    trees = list(trees)
    events = [event for tree in trees for event in (tree.event, *tree.children)]
    names = names_of(event.application_id for event in events)
    actors = actors_of({e.actor_id for e in events if e.actor_id and e.actor_kind == "COMPANY"})
    told = []
    for tree in trees:
        root = _tell(tree.event, names, actors)
        root.children = [_tell(child, names, actors) for child in tree.children]
        root.more = tree.more
        told.append(root)
    return told


def tell_one(event: Event) -> Told:
    """One event in words, in at most three queries."""
    return tell([Tree(event)])[0]


def _tell(event: Event, names: Mapping[UUID, str], actors: Mapping[UUID, str]) -> Told:
    words = words_of_event(event)
    return Told(
        event=event,
        name=names.get(event.application_id, "") if event.application_id else "",
        title=words.log,
        sentence=sentence(event, Reader.COMPANY, timezone.get_current_timezone()),
        actor=_actor(event, actors),
        tone=words.tone,
    )


def _actor(event: Event, actors: Mapping[UUID, str]) -> str:
    is_company = event.actor_kind == ActorKind.COMPANY
    known = actors.get(event.actor_id) if is_company and event.actor_id else None
    return f"by {known}" if known else ACTOR_WORDS[event.actor_kind]
