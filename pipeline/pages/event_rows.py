"""Events of the log as rows of a timeline: a title, a sentence, the actor and a tone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone

from pipeline.domain.states import ActorKind, EventType, Outcome
from pipeline.models import Event
from pipeline.selectors.history import Tree, actors_of, names_of
from pipeline.wording.sentences import Reader, sentence


class Title(NamedTuple):
    """Words for one kind of event, and the tone in which a timeline shows it."""

    alone: str  # in the timeline of one person
    after_name: str  # in the timeline of a job, behind the person's name
    tone: str = "plain"


DECISION_TITLES: dict[str, Title] = {
    Outcome.HIRED: Title("Hired", "was hired", "good"),
    Outcome.REJECTED: Title("Rejected", "was rejected", "bad"),
    Outcome.REMOVED: Title("Removed", "was removed"),
}

TITLES: dict[str, Title] = {
    EventType.APPLIED: Title("Applied", "applied", "wait"),
    EventType.PROMOTED: Title("Promoted: a seat was offered", "was promoted", "warn"),
    EventType.ACKNOWLEDGED: Title("Confirmed the seat", "confirmed the seat", "good"),
    EventType.DEADLINE_EXTENDED: Title("Deadline extended", "got more time to confirm", "warn"),
    EventType.DECAYED: Title("Missed the deadline", "missed the deadline", "bad"),
    EventType.LAPSED: Title("Missed one deadline too many", "missed one deadline too many", "bad"),
    EventType.WITHDRAWN: Title("Withdrew", "withdrew"),
    EventType.CLOSED_OUT: Title("Released: the job closed", "was released: the job closed"),
    EventType.JOB_CREATED: Title("Job created", "Job created"),
    EventType.JOB_OPENED: Title("Job opened", "Job opened", "good"),
    EventType.JOB_PAUSED: Title("Job paused", "Job paused", "warn"),
    EventType.JOB_RESUMED: Title("Job resumed", "Job resumed", "good"),
    EventType.JOB_CLOSED: Title("Job closed", "Job closed"),
    EventType.CAPACITY_CHANGED: Title("Number of seats changed", "Number of seats changed"),
    EventType.POLICY_CHANGED: Title("Rules changed", "Rules changed"),
}

# The kinds of events that a timeline can be filtered by.
FILTERS: list[tuple[str, str]] = [
    (EventType.APPLIED.value, "Applied"),
    (EventType.PROMOTED.value, "Promoted"),
    (EventType.ACKNOWLEDGED.value, "Confirmed"),
    (EventType.DEADLINE_EXTENDED.value, "Deadline extended"),
    (EventType.DECAYED.value, "Missed the deadline"),
    (EventType.LAPSED.value, "Lapsed"),
    (EventType.WITHDRAWN.value, "Withdrew"),
    (EventType.REMOVED.value, "Removed, rejected or hired"),
    (EventType.CLOSED_OUT.value, "Released when the job closed"),
    (EventType.JOB_OPENED.value, "Job opened"),
    (EventType.JOB_PAUSED.value, "Job paused"),
    (EventType.JOB_RESUMED.value, "Job resumed"),
    (EventType.JOB_CLOSED.value, "Job closed"),
    (EventType.CAPACITY_CHANGED.value, "Number of seats changed"),
    (EventType.POLICY_CHANGED.value, "Rules changed"),
]


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


def rows_of_person(events: Iterable[Event]) -> list[EventRow]:
    """Describe events of one person's applications, in the given order and without names."""
    zone = timezone.get_current_timezone()
    rows = []
    for event in events:
        title = _title_of(event)
        words = sentence(event, Reader.COMPANY, zone)
        rows.append(EventRow(event, title.alone, title.tone, words))
    return rows


def rows_of_job(trees: Iterable[Tree]) -> list[EventRow]:
    """Describe events of a job's log with the people's names, in at most three queries."""
    trees = list(trees)
    events = [event for tree in trees for event in (tree.event, *tree.children)]
    names = names_of(event.application_id for event in events)
    actors = actors_of({e.actor_id for e in events if e.actor_id and e.actor_kind == "COMPANY"})
    zone = timezone.get_current_timezone()

    def row(event: Event) -> EventRow:
        title = _title_of(event)
        actor = {ActorKind.SYSTEM: "the system", ActorKind.APPLICANT: "the applicant"}.get(
            ActorKind(event.actor_kind)
        )
        if actor is None:
            actor = (event.actor_id and actors.get(event.actor_id)) or "the company"
        return EventRow(
            event=event,
            title=title.after_name,
            tone=title.tone,
            sentence=sentence(event, Reader.COMPANY, zone),
            name=names.get(event.application_id, "") if event.application_id else "",
            actor=f"by {actor}",
        )

    rows = []
    for tree in trees:
        root = row(tree.event)
        root.children, root.more = [row(child) for child in tree.children], tree.more
        rows.append(root)
    return rows


def row_of_event(event: Event) -> EventRow:
    """Describe one event of a job's log, in at most three queries."""
    return rows_of_job([Tree(event)])[0]


def _title_of(event: Event) -> Title:
    return DECISION_TITLES.get(event.outcome or "") or TITLES[event.event]
