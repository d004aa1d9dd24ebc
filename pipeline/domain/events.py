"""Kinds of events in the log: what is declared of each, and those of the job itself. Pure.

The events of applications are in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from pipeline.domain.contests import ContestAnswer
from pipeline.domain.errors import LineError
from pipeline.domain.permissions import Action
from pipeline.domain.states import (
    CLOSES_AT,
    FILLED_BY,
    OPENS_AT,
    PLANNED_SEATS,
    POSITIONS,
    RESERVED_SEATS,
    RESERVED_UNTIL,
    ActorKind,
    EventType,
    Move,
    Outcome,
    Status,
)


@dataclass(frozen=True, slots=True)
class Verb:
    """Verb on an application: its move, and the statuses from which and to which it leads.

    `action`: who may, by the table of permissions; None: the system alone. `refuses`: what its
    caller can be told instead. `of_verified`: only verified people can, as for a seat.
    """

    move: Move
    steps: Mapping[Status | None, Status]
    action: Action | None = None
    refuses: tuple[type[LineError], ...] = ()
    outcome: Outcome | None = None
    of_verified: bool = False


class EventWords(NamedTuple):
    """Titles of an event, one for each kind of reader, and its tone."""

    tone: str
    log: str  # in a job's history, after the person's name; a job event has no name before it
    company: str = ""  # on the company's page of one application
    applicant: str = ""  # on the applicant's own page


What = Status | Outcome | EventType | ContestAnswer | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """Kind of event: the verbs that write it, and what people read about it.

    `sentences`: by what tells them apart: the status or outcome that it leads to, its cause, an
    answer, or a name in its data; None for the rest. `other_words`: titles that differ likewise.
    `webhook`: what its webhook means. `filtered`: its label in a filter, if not the company's
    title. `wish`: the field of the place that it sets, or unsets if its data has none.
    """

    words: EventWords
    webhook: str
    sentences: Mapping[What, str]
    verbs: tuple[Verb, ...] = ()
    other_words: Mapping[str, EventWords] = field(default_factory=dict)
    filtered: str = ""
    wish: str = ""

    def titles(self, what: str | None = None) -> EventWords:
        """Return the titles, in the case `what` if they differ there."""
        words = self.other_words.get(what or "", self.words)
        return EventWords(words.tone, *(text and gettext(text) for text in words[1:]))


# What differs in some events: both dates are announced, not only one.
OPENS_AND_CLOSES = "opens and closes"

# The events of the job itself. No verb on an application writes them.
JOB_EVENTS: dict[EventType, LoggedEvent] = {
    EventType.JOB_CREATED: LoggedEvent(
        words=EventWords("plain", "Job created"),
        webhook="A job was created",
        sentences={None: "The company created the job, with {seats}."},
    ),
    EventType.JOB_OPENED: LoggedEvent(
        words=EventWords("good", "Job opened"),
        webhook="A job opened",
        sentences={
            None: "The company opened the job: people can apply.",
            ActorKind.SYSTEM: "As announced for {planned}, the job opened: people can apply.",
        },
    ),
    EventType.JOB_PAUSED: LoggedEvent(
        words=EventWords("warn", "Job paused"),
        webhook="A job was paused",
        sentences={
            None: (
                "The company paused the job: nobody can apply and nobody is promoted, but "
                "deadlines still run."
            )
        },
    ),
    EventType.JOB_RESUMED: LoggedEvent(
        words=EventWords("good", "Job resumed"),
        webhook="A job was resumed",
        sentences={
            None: (
                "The company resumed the job: people can apply, and free seats go to the next in "
                "line."
            )
        },
    ),
    EventType.JOB_CLOSED: LoggedEvent(
        words=EventWords("plain", "Job closed"),
        webhook="A job closed",
        sentences={
            None: "The company closed the job. Everyone without a confirmed seat is released.",
            ActorKind.SYSTEM: (
                "As announced for {planned}, the job closed. Everyone without a confirmed seat is "
                "released."
            ),
            FILLED_BY: (
                "The last position was filled, and the company closed the job. Everyone without a "
                "confirmed seat is released."
            ),
        },
    ),
    EventType.CAPACITY_CHANGED: LoggedEvent(
        words=EventWords("plain", "Number of seats changed"),
        webhook="A job’s number of seats changed",
        sentences={
            None: "The company changed how many seats there are: {seats}.",
            PLANNED_SEATS: "As planned for {planned}, the number of seats changed: {seats}.",
        },
    ),
    EventType.POLICY_CHANGED: LoggedEvent(
        words=EventWords("plain", "Rules changed"),
        webhook="A job’s rules changed",
        sentences={
            None: (
                "The company changed the rules of the line. Running deadlines, places in line and "
                "cool-downs stay as they were."
            )
        },
    ),
    EventType.POSITIONS_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Number of positions changed")),
        webhook="A job’s number of positions to fill changed",
        sentences={
            POSITIONS: _("The company changed how many positions there are to fill: {positions}."),
            None: _("The company made the job open-ended: it hires any number of people."),
        },
    ),
    EventType.DATES_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Opening or closing date changed")),
        webhook="The times at which a job opens or closes changed",
        sentences={
            OPENS_AND_CLOSES: _(
                "The company announced that the job opens at {opens} and closes at {closes}. "
                "Everyone without a confirmed seat is released then."
            ),
            CLOSES_AT: _(
                "The company announced that the job closes at {closes}. Everyone without a "
                "confirmed seat is released then."
            ),
            OPENS_AT: _("The company announced that the job opens at {opens}."),
            None: _("The company took back the announced date."),
        },
    ),
    EventType.RESERVE_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Reserved seats changed")),
        webhook="How many seats of a job are reserved for a group changed, or until when",
        sentences={
            RESERVED_UNTIL: _(
                "The company reserved {reserved} for people of a group. Those that nobody of the "
                "group has taken by {reserved_until} go to the line."
            ),
            RESERVED_SEATS: _("The company reserved {reserved} for people of a group."),
            ActorKind.SYSTEM: _(
                "As announced for {planned}, the reserved seats that are free go to the line."
            ),
            None: _("The company reserves no seats any more."),
        },
    ),
    EventType.CLOCK_ADVANCED: LoggedEvent(
        words=EventWords("plain", "Clock moved forward"),
        webhook="The clock of a sandbox was moved forward",
        sentences={
            None: (
                "The company moved the clock of its sandbox forward by {moved}. What fell due in "
                "that time follows, each event at its own time."
            )
        },
    ),
    EventType.DRAWN: LoggedEvent(
        words=EventWords("good", "Order drawn by lot"),
        webhook="The order of a job’s line was drawn by lot",
        sentences={
            None: (
                "As announced for {planned}, the order of the {drawn} in line was drawn by lot. "
                "The seed comes from the hash of the event before it and from the time of the "
                "draw."
            )
        },
    ),
}
