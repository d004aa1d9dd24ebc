"""Events of a log as the company reads them: who, what, through whom, and how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from pipeline.domain.states import ActorKind, EventType, Outcome
from pipeline.models import Event
from pipeline.selectors.history import Tree, actors_of, names_of
from pipeline.wording.sentences import Reader, sentence

TITLES: dict[str, str] = {
    EventType.APPLIED: "applied",
    EventType.PROMOTED: "was promoted",
    EventType.ACKNOWLEDGED: "confirmed the seat",
    EventType.DEADLINE_EXTENDED: "was given more time",
    EventType.DECAYED: "missed the deadline",
    EventType.LAPSED: "missed the deadline once too often",
    EventType.WITHDRAWN: "withdrew",
    EventType.REMOVED: "was removed",
    EventType.CLOSED_OUT: "was let go: the job has closed",
    EventType.JOB_CREATED: "Job created",
    EventType.JOB_OPENED: "Job opened",
    EventType.JOB_PAUSED: "Job paused",
    EventType.JOB_RESUMED: "Job resumed",
    EventType.JOB_CLOSED: "Job closed",
    EventType.CAPACITY_CHANGED: "Number of seats changed",
    EventType.POLICY_CHANGED: "Rules changed",
}
"""What happened, behind the name of whom it happened to; of the job, all there is to say."""

DECIDED: dict[str | None, str] = {
    Outcome.HIRED: "was hired",
    Outcome.REJECTED: "was rejected",
}

KINDS: list[tuple[str, str]] = [
    (EventType.APPLIED.value, "Applied"),
    (EventType.PROMOTED.value, "Promoted"),
    (EventType.ACKNOWLEDGED.value, "Confirmed"),
    (EventType.DEADLINE_EXTENDED.value, "Deadline extended"),
    (EventType.DECAYED.value, "Missed the deadline"),
    (EventType.LAPSED.value, "Lapsed"),
    (EventType.WITHDRAWN.value, "Withdrew"),
    (EventType.REMOVED.value, "Removed, rejected or hired"),
    (EventType.CLOSED_OUT.value, "Let go by closing"),
    (EventType.JOB_OPENED.value, "Job opened"),
    (EventType.JOB_PAUSED.value, "Job paused"),
    (EventType.JOB_RESUMED.value, "Job resumed"),
    (EventType.JOB_CLOSED.value, "Job closed"),
    (EventType.CAPACITY_CHANGED.value, "Number of seats changed"),
    (EventType.POLICY_CHANGED.value, "Rules changed"),
]
"""Kinds of events to choose from, in words."""

TONES: dict[str, str] = {
    EventType.APPLIED: "wait",
    EventType.PROMOTED: "warn",
    EventType.ACKNOWLEDGED: "good",
    EventType.DECAYED: "bad",
    EventType.LAPSED: "bad",
    EventType.JOB_OPENED: "good",
    EventType.JOB_RESUMED: "good",
    EventType.JOB_PAUSED: "warn",
}


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
    return Told(
        event=event,
        name=names.get(event.application_id, "") if event.application_id else "",
        title=DECIDED.get(event.outcome) or TITLES[event.event],
        sentence=sentence(event, Reader.COMPANY, timezone.get_current_timezone()),
        actor=_actor(event, actors),
        tone="good" if event.outcome == Outcome.HIRED else TONES.get(event.event, "plain"),
    )


def _actor(event: Event, actors: Mapping[UUID, str]) -> str:
    if event.actor_kind == ActorKind.SYSTEM:
        return "by the system"
    if event.actor_kind == ActorKind.APPLICANT:
        return "by the applicant"
    known = actors.get(event.actor_id) if event.actor_id else None
    return f"by {known}" if known else "by the company"
