"""Kinds of events in the log: what is declared of each, and those of the job itself. Pure.

The events of applications are in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

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

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


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
    log: str | Promise  # in a job's history, with the {name} of the person if it is about one
    company: str | Promise = ""  # on the company's page of one application
    applicant: str | Promise = ""  # on the applicant's own page


class Told(NamedTuple):
    """Sentence about an event, as the applicant reads it, and as others do if that differs.

    `then`: what follows. `given`: the fact without which it is not said.
    """

    applicant: _StrPromise
    company: _StrPromise | None = None
    then: tuple[Told, ...] = ()
    given: str = ""


# What follows in some sentences about offers and misses.
QUIET = Told(
    # Translators: {quiet} is the name of a time zone. The time to confirm stands still meanwhile.
    _("Quiet hours ({quiet} time) don’t count."),
    given="quiet",
)
OFFERED = (Told(_("It must be confirmed by {deadline}, or it goes to the next in line.")), QUIET)
LOSS = (
    Told(
        _("You went to the end of the line."),
        _("The applicant went to the end of the line."),
        given="to_the_end",
    ),
    Told(
        ngettext_lazy(
            "You went behind everyone in line and the next person to join.",
            "You went behind everyone in line and the next {places} people to join.",
            "places",
        ),
        ngettext_lazy(
            "The applicant went behind everyone in line and the next person to join.",
            "The applicant went behind everyone in line and the next {places} people to join.",
            "places",
        ),
        given="places",
    ),
)
COOLDOWN = (
    Told(
        _("After a miss, you can be offered a seat again from {since}."),
        _("After a miss, the applicant can be offered a seat again from {since}."),
        given="after_a_miss",
    ),
    Told(
        _("After a pass, you can be offered a seat again from {since}."),
        _("After a pass, the applicant can be offered a seat again from {since}."),
        given="after_a_pass",
    ),
)


What = Status | Outcome | EventType | ContestAnswer | str | None


def put_forward(what: str) -> str:
    """Return what tells apart the sentence about a person whom the company has put forward."""
    return f"{what}, put forward"


def with_reason(what: str) -> str:
    """Return what tells apart the sentence about a decision with a reason."""
    return f"{what}, with a reason"


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
    sentences: Mapping[What, Told]
    verbs: tuple[Verb, ...] = ()
    other_words: Mapping[str, EventWords] = field(default_factory=dict)
    filtered: str | Promise = ""
    wish: str = ""

    def titles(self, what: str | None = None) -> EventWords:
        """Return the titles, in the case `what` if they differ there."""
        words = self.other_words.get(what or "", self.words)
        return EventWords(words.tone, *(str(text) for text in words[1:]))


# What differs in some events: both dates are announced, not only one.
OPENS_AND_CLOSES = "opens and closes"

# The events of the job itself. No verb on an application writes them.
JOB_EVENTS: dict[EventType, LoggedEvent] = {
    EventType.JOB_CREATED: LoggedEvent(
        words=EventWords("plain", _("Job created")),
        webhook="A job was created",
        sentences={
            None: Told(
                ngettext_lazy(
                    "The company created the job, with {seats} seat.",
                    "The company created the job, with {seats} seats.",
                    "seats",
                )
            ),
        },
    ),
    EventType.JOB_OPENED: LoggedEvent(
        words=EventWords("good", _("Job opened")),
        webhook="A job opened",
        sentences={
            None: Told(_("The company opened the job: people can apply.")),
            ActorKind.SYSTEM: Told(
                _("As announced for {planned}, the job opened: people can apply.")
            ),
        },
    ),
    EventType.JOB_PAUSED: LoggedEvent(
        words=EventWords("warn", _("Job paused")),
        webhook="A job was paused",
        sentences={
            None: Told(
                _(
                    "The company paused the job: nobody can apply and nobody is promoted, "
                    "but deadlines still run."
                )
            ),
        },
    ),
    EventType.JOB_RESUMED: LoggedEvent(
        words=EventWords("good", _("Job resumed")),
        webhook="A job was resumed",
        sentences={
            None: Told(
                _(
                    "The company resumed the job: people can apply, and free seats go to the "
                    "next in line."
                )
            ),
        },
    ),
    EventType.JOB_CLOSED: LoggedEvent(
        words=EventWords("plain", _("Job closed")),
        webhook="A job closed",
        sentences={
            None: Told(
                _("The company closed the job. Everyone without a confirmed seat is released.")
            ),
            ActorKind.SYSTEM: Told(
                _(
                    "As announced for {planned}, the job closed. Everyone without a "
                    "confirmed seat is released."
                )
            ),
            FILLED_BY: Told(
                _(
                    "The last position was filled, and the company closed the job. Everyone "
                    "without a confirmed seat is released."
                )
            ),
        },
    ),
    EventType.CAPACITY_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Number of seats changed")),
        webhook="A job’s number of seats changed",
        sentences={
            None: Told(
                ngettext_lazy(
                    "The company changed how many seats there are: {seats} seat.",
                    "The company changed how many seats there are: {seats} seats.",
                    "seats",
                )
            ),
            PLANNED_SEATS: Told(
                ngettext_lazy(
                    "As planned for {planned}, the number of seats changed: {seats} seat.",
                    "As planned for {planned}, the number of seats changed: {seats} seats.",
                    "seats",
                )
            ),
        },
    ),
    EventType.POLICY_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Rules changed")),
        webhook="A job’s rules changed",
        sentences={
            None: Told(
                _(
                    "The company changed the rules of the line. Running deadlines, places in "
                    "line and cool-downs stay as they were."
                )
            ),
        },
    ),
    EventType.POSITIONS_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Number of positions changed")),
        webhook="A job’s number of positions to fill changed",
        sentences={
            POSITIONS: Told(
                ngettext_lazy(
                    "The company changed how many positions there are to fill: {positions} "
                    "position.",
                    "The company changed how many positions there are to fill: {positions} "
                    "positions.",
                    "positions",
                )
            ),
            None: Told(_("The company made the job open-ended: it hires any number of people.")),
        },
    ),
    EventType.DATES_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Opening or closing date changed")),
        webhook="The times at which a job opens or closes changed",
        sentences={
            OPENS_AND_CLOSES: Told(
                _(
                    "The company announced that the job opens at {opens} and closes at "
                    "{closes}. Everyone without a confirmed seat is released then."
                )
            ),
            CLOSES_AT: Told(
                _(
                    "The company announced that the job closes at {closes}. Everyone without "
                    "a confirmed seat is released then."
                )
            ),
            OPENS_AT: Told(_("The company announced that the job opens at {opens}.")),
            None: Told(_("The company took back the announced date.")),
        },
    ),
    EventType.RESERVE_CHANGED: LoggedEvent(
        words=EventWords("plain", _("Reserved seats changed")),
        webhook="How many seats of a job are reserved for a group changed, or until when",
        sentences={
            RESERVED_UNTIL: Told(
                ngettext_lazy(
                    "The company reserved {reserved} seat for people of a group. Those that "
                    "nobody of the group has taken by {reserved_until} go to the line.",
                    "The company reserved {reserved} seats for people of a group. Those that "
                    "nobody of the group has taken by {reserved_until} go to the line.",
                    "reserved",
                )
            ),
            RESERVED_SEATS: Told(
                ngettext_lazy(
                    "The company reserved {reserved} seat for people of a group.",
                    "The company reserved {reserved} seats for people of a group.",
                    "reserved",
                )
            ),
            ActorKind.SYSTEM: Told(
                _("As announced for {planned}, the reserved seats that are free go to the line.")
            ),
            None: Told(_("The company reserves no seats any more.")),
        },
    ),
    EventType.SEATS_KEPT: LoggedEvent(
        words=EventWords("warn", _("Planned change of seats skipped")),
        webhook="A planned change of a job’s seats was skipped, because the seats are reserved",
        sentences={
            None: Told(
                ngettext_lazy(
                    "As planned for {planned}, {closing} seat was to close. That would have left "
                    "fewer seats than are reserved, so this change was skipped.",
                    "As planned for {planned}, {closing} seats were to close. That would have left "
                    "fewer seats than are reserved, so this change was skipped.",
                    "closing",
                )
            ),
        },
    ),
    EventType.CLOCK_ADVANCED: LoggedEvent(
        words=EventWords("plain", _("Clock moved forward")),
        webhook="The clock of a sandbox was moved forward",
        sentences={
            None: Told(
                _(
                    "The company moved the clock of its sandbox forward by {moved}. What "
                    "fell due in that time follows, each event at its own time."
                )
            ),
        },
    ),
    EventType.DRAWN: LoggedEvent(
        words=EventWords("good", _("Order drawn by lot")),
        webhook="The order of a job’s line was drawn by lot",
        sentences={
            None: Told(
                ngettext_lazy(
                    "As announced for {planned}, the order of the {drawn} application in "
                    "line was drawn by lot. The seed comes from the hash of the event before "
                    "it and from the time of the draw.",
                    "As announced for {planned}, the order of the {drawn} applications in "
                    "line was drawn by lot. The seed comes from the hash of the event before "
                    "it and from the time of the draw.",
                    "drawn",
                )
            ),
        },
    ),
}
