"""An application as its owner's pages show it: state, headline and timeline entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from django.utils import timezone

from jobs.models import Job, JobStatus
from pipeline.domain.states import MOVES, Move, Outcome, Status
from pipeline.line.effects import has_just_missed
from pipeline.models import Application, Event
from pipeline.selectors.applications import Seen
from pipeline.selectors.my_applications import Mine
from pipeline.wording.event_words import words_of_event
from pipeline.wording.explanations import Standing, what_if_nothing
from pipeline.wording.sentences import Reader, sentence


class State(Enum):
    """State of an application from its owner's view, most urgent first."""

    OFFERED = "offered"
    LATE = "late"
    UNVERIFIED = "unverified"
    WAITING = "waiting"
    ACTIVE = "active"
    CLOSING = "closing"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Card:
    """An application with its job and wording, for templates."""

    seen: Seen
    job: Job
    standing: Standing

    @classmethod
    def of(cls, seen: Seen, job: Job) -> Card:
        """Build the card of an application."""
        application = seen.application
        standing = Standing(
            status=Status(application.status),
            outcome=Outcome(application.outcome) if application.outcome else None,
            policy=job.policy,
            now=seen.now,
            job_status=job.status,
            position=seen.position,
            misses=application.decay_count,
            deadline=application.acknowledge_by,
            eligible_at=application.eligible_at,
            verify_by=application.verify_by,
        )
        return cls(seen, job, standing)

    @property
    def application(self) -> Application:
        """Return the row."""
        return self.seen.application

    @property
    def state(self) -> str:
        """Return the value of the application's State."""
        return _state(self.standing).value

    @property
    def is_urgent(self) -> bool:
        """Tell whether the owner must act before a deadline."""
        return _state(self.standing) is State.OFFERED

    @property
    def word(self) -> str:
        """Return the status for the chip, or the outcome once ended."""
        return str(self.application.outcome or self.application.status)

    @property
    def may_confirm(self) -> bool:
        """Tell whether there is a seat to confirm and still time."""
        legal = (self.standing.status, Move.ACKNOWLEDGE) in MOVES
        return legal and _state(self.standing) is State.OFFERED

    @property
    def may_withdraw(self) -> bool:
        """Tell whether the owner can withdraw."""
        legal = (self.standing.status, Move.WITHDRAW) in MOVES
        return legal and _state(self.standing) is not State.CLOSING

    @property
    def may_verify(self) -> bool:
        """Tell whether the owner can take over what was made with the address."""
        return _state(self.standing) is State.UNVERIFIED

    @property
    def may_rename(self) -> bool:
        """Tell whether the owner can change the name that the company sees."""
        return self.standing.status is not Status.INACTIVE

    @property
    def may_apply_again(self) -> bool:
        """Tell whether the person can apply to this job again."""
        over = self.standing.outcome in (Outcome.WITHDRAWN, Outcome.REMOVED, Outcome.LAPSED)
        return over and self.standing.job_status == JobStatus.OPEN

    @property
    def headline(self) -> str:
        """Return the state in one sentence; for an offer, the page adds the deadline."""
        return _HEADLINES[_state(self.standing)](self)

    @property
    def title(self) -> str:
        """Return the title of the browser tab."""
        return f"{self.headline} {self.job.posting.title}"

    @property
    def if_nothing(self) -> str:
        """Say what happens if the owner does nothing."""
        return what_if_nothing(self.standing, timezone.get_current_timezone())

    @property
    def rank(self) -> tuple[int, Any]:
        """Return the sort key: state, then deadline or place in line."""
        state = _state(self.standing)
        within = {
            State.OFFERED: self.standing.deadline and self.standing.deadline.timestamp(),
            State.WAITING: self.standing.position,
        }.get(state)
        return list(State).index(state), within or 0


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Event of the timeline in words."""

    title: str
    sentence: str
    at: datetime
    tone: str
    application_id: UUID | None
    job_title: str = ""


def timeline_entry(event: Event, *, job_title: str = "") -> TimelineEntry:
    """Describe an event to its applicant, in their time zone."""
    words = words_of_event(event)
    text = sentence(event, Reader.APPLICANT, timezone.get_current_timezone())
    return TimelineEntry(
        words.applicant, text, event.at, words.tone, event.application_id, job_title
    )


def sorted_cards(mine: Iterable[Mine]) -> list[Card]:
    """Return the cards of a person's applications, most urgent first."""
    cards = [Card.of(each.seen, each.job) for each in mine]
    return sorted(cards, key=lambda card: card.rank)


def _state(standing: Standing) -> State:
    if standing.status is Status.INACTIVE:
        return State.ENDED
    if standing.status is Status.ACTIVE:
        return State.ACTIVE
    if standing.job_status == JobStatus.CLOSED:
        return State.CLOSING
    if standing.status is Status.WAITLIST:
        return State.WAITING if standing.is_verified else State.UNVERIFIED
    return State.LATE if standing.is_late else State.OFFERED


def _waiting(card: Card) -> str:
    position, waiting = card.seen.position, card.seen.people_waiting
    if has_just_missed(card.application):
        return f"You missed the deadline. You are now number {position:,} of {waiting:,} in line."
    if position == 1:
        return "You are next in line."
    return f"You are number {position:,} of {waiting:,} in line."


_HEADLINES = {
    State.OFFERED: lambda card: "It is your turn.",
    State.LATE: lambda card: "The time to confirm is over.",
    State.UNVERIFIED: lambda card: "Somebody applied with your email address.",
    State.WAITING: _waiting,
    State.ACTIVE: lambda card: "You have a seat. The company is reviewing your application.",
    State.CLOSING: lambda card: "The company has closed this job.",
    State.ENDED: lambda card: card.standing.ending.headline,
}
