"""An application as its owner's pages show it: state, headline and timeline entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.models import Job, JobStatus
from pipeline.domain.states import Move, Outcome, Status
from pipeline.domain.verbs import MOVES
from pipeline.figures.forecast import Prospect, read_prospects
from pipeline.line.misses import has_just_missed
from pipeline.models import Application, ApplicationRow, Event
from pipeline.selectors.applications import Mine, SeenApplication
from pipeline.wording import sentences
from pipeline.wording.events import find_words
from pipeline.wording.explanations import ExplainedStanding, explain_doing_nothing, explain_lapse
from pipeline.wording.language import number as in_digits
from pipeline.wording.sentences import Reader
from pipeline.wording.waiting import describe_prospect, describe_wait

FORECAST_WIDTH = 316  # of the drawn scale, which ends a quarter after the likely time


class CardState(Enum):
    """State of an application from its owner's view, most urgent first."""

    OFFERED = "offered"
    LATE = "late"
    UNVERIFIED = "unverified"
    DRAWING = "drawing"  # the order is still to be drawn by lot
    WAITING = "waiting"
    ACTIVE = "active"
    CLOSING = "closing"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class LikelyTime:
    """Time in which a seat will most likely come: in words, and on a scale that begins now."""

    wait: str
    from_x: int
    width: int

    @classmethod
    def of(cls, prospect: Prospect) -> LikelyTime:
        """Build it from a forecast."""
        half, most = prospect.forecast.half, max(1, prospect.forecast.most)
        most_x = FORECAST_WIDTH * 4 // 5
        from_x = min(most_x - 12, round(most_x * half / most))
        return cls(describe_wait(prospect), from_x, most_x - from_x)


@dataclass(frozen=True, slots=True)
class ApplicationCard:
    """An application with its job and wording, for templates."""

    seen: SeenApplication
    job: Job
    standing: ExplainedStanding
    # How long they will probably wait, in words; empty while it is not known.
    prospect: str = ""
    forecast: LikelyTime | None = None

    @classmethod
    def of(cls, seen: SeenApplication, job: Job) -> ApplicationCard:
        """Build the card of an application."""
        application = seen.application
        standing = ExplainedStanding(
            status=Status(application.status),
            outcome=Outcome(application.outcome) if application.outcome else None,
            policy=job.policy,
            now=seen.now,
            job_status=job.status,
            position=seen.position,
            misses=application.decay_count,
            deadline=application.acknowledge_by,
            eligible_at=application.eligible_at,
            not_before=application.not_before,
            accept_until=application.accept_until,
            pass_next=application.pass_next,
            passes=application.passes_used,
            passed_at=application.passed_at,
            verify_by=application.verify_by,
            draw_at=job.draw_at if job.awaits_draw else None,
        )
        return cls(seen, job, standing)

    @property
    def application(self) -> Application | ApplicationRow:
        """Return the row."""
        return self.seen.application

    @property
    def state(self) -> str:
        """Return the value of the application's State."""
        return _state(self.standing).value

    @property
    def is_urgent(self) -> bool:
        """Tell whether the owner must act before a deadline."""
        return _state(self.standing) is CardState.OFFERED

    @property
    def word(self) -> str:
        """Return the status for the chip, or the outcome once ended."""
        return str(self.application.outcome or self.application.status)

    @property
    def offer_seconds(self) -> int:
        """Return the length of the open offer, from when it was made to its deadline."""
        made, ends = self.application.promoted_at, self.application.acknowledge_by
        return max(1, int((ends - made).total_seconds())) if made and ends else 1

    @property
    def share_left(self) -> int:
        """Return the hundredths of the time of the open offer that are left."""
        ends = self.application.acknowledge_by
        left = (ends - self.seen.now).total_seconds() if ends else 0
        return max(0, min(100, round(100 * left / self.offer_seconds)))

    @property
    def may_confirm(self) -> bool:
        """Tell whether there is a seat to confirm and time left to do so."""
        legal = (self.standing.status, Move.ACKNOWLEDGE) in MOVES
        return legal and _state(self.standing) is CardState.OFFERED

    @property
    def may_withdraw(self) -> bool:
        """Tell whether the owner can withdraw."""
        legal = (self.standing.status, Move.WITHDRAW) in MOVES
        return legal and _state(self.standing) is not CardState.CLOSING

    @property
    def may_wish(self) -> bool:
        """Tell whether the owner can ask for no seat until a time, or accept one in advance."""
        legal = {(self.standing.status, move) for move in (Move.DEFER, Move.PREACCEPT)}
        waits = _state(self.standing) in (CardState.DRAWING, CardState.WAITING)
        return legal <= MOVES.keys() and waits

    @property
    def may_pass(self) -> bool:
        """Tell whether the owner can pass the offer that is open, or the next turn."""
        return (self.may_confirm or self.may_wish) and self.standing.passes_left > 0

    @property
    def may_verify(self) -> bool:
        """Tell whether the owner can verify an application that was made with their address."""
        return _state(self.standing) is CardState.UNVERIFIED

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
    def news(self) -> str:
        """Return the state to be spoken when it changes, without the length of the line."""
        if _state(self.standing) is CardState.WAITING and (self.seen.position or 0) > 1:
            return _describe_place(self, with_length=False)
        return self.headline

    @property
    def title(self) -> str:
        """Return the title of the browser tab."""
        return f"{self.headline} {self.job.posting.title}"

    @property
    def if_nothing(self) -> str:
        """Say what happens if the owner does nothing."""
        return explain_doing_nothing(self.standing, timezone.get_current_timezone())

    @property
    def if_missed(self) -> str:
        """Say in short what happens if the owner does not confirm their seat."""
        return explain_lapse(self.standing.policy, self.standing.misses)

    @property
    def rank(self) -> tuple[int, Any]:
        """Return the sort key: state, then deadline or place in line."""
        state = _state(self.standing)
        within = {
            CardState.OFFERED: self.standing.deadline and self.standing.deadline.timestamp(),
            CardState.WAITING: self.standing.position,
        }.get(state)
        return list(CardState).index(state), within or 0


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Event of the timeline in words."""

    title: str
    sentence: str
    at: datetime
    tone: str
    application_id: UUID | None
    job_title: str = ""
    key: str = ""  # tells the entry from all others on a page


def timeline_entry(event: Event, *, job_title: str = "", cause: str | None = None) -> TimelineEntry:
    """Describe an event to its applicant, in their time zone. `cause`: as in `sentence`."""
    words = find_words(event)
    text = sentences.compose(event, Reader.APPLICANT, timezone.get_current_timezone(), cause=cause)
    return TimelineEntry(
        str(words.applicant),
        text,
        event.at,
        words.tone,
        event.application_id,
        job_title,
        key=f"{event.job_id}:{event.seq}",
    )


def sorted_cards(mine: Iterable[Mine]) -> list[ApplicationCard]:
    """Return the cards of a person's applications, most urgent first."""
    cards = [ApplicationCard.of(each.seen, each.job) for each in mine]
    return sorted(add_prospects(cards), key=lambda card: card.rank)


def add_prospects(cards: Collection[ApplicationCard]) -> list[ApplicationCard]:
    """Return the cards; those that wait for an open job say how long the wait will probably be."""
    waiting = {
        card.job.id: card.seen.position
        for card in cards
        if card.state == CardState.WAITING.value
        and card.job.status == JobStatus.OPEN
        and not card.job.is_filled
        if not card.standing.puts_turn_off
    }
    known = read_prospects(waiting) if waiting else {}
    return [
        replace(
            card,
            prospect=describe_prospect(known[card.job.id]),
            forecast=LikelyTime.of(known[card.job.id]),
        )
        if card.job.id in known and not card.standing.puts_turn_off
        else card
        for card in cards
    ]


def _state(standing: ExplainedStanding) -> CardState:
    if standing.status is Status.INACTIVE:
        return CardState.ENDED
    if standing.status is Status.ACTIVE:
        return CardState.ACTIVE
    if standing.job_status == JobStatus.CLOSED:
        return CardState.CLOSING
    if standing.status is Status.WAITLIST:
        if not standing.is_verified:
            return CardState.UNVERIFIED
        # The job may be read after a draw that the application was read before.
        drawing = standing.draw_at or standing.position is None
        return CardState.DRAWING if drawing else CardState.WAITING
    return CardState.LATE if standing.is_late else CardState.OFFERED


def _waiting_headline(card: ApplicationCard) -> str:
    if card.seen.position == 1 and not has_just_missed(card.application):
        return _("You are next in line.")
    return _describe_place(card)


def _describe_place(card: ApplicationCard, *, with_length: bool = True) -> str:
    """Say at which place in line a person is, and if `with_length`, of how many."""
    is_missed = has_just_missed(card.application)
    if with_length:
        words = (
            _("You missed the deadline. You are now number %(place)s of %(people)s in line.")
            if is_missed
            else _("You are number %(place)s of %(people)s in line.")
        )
    else:
        words = (
            _("You missed the deadline. You are now number %(place)s in line.")
            if is_missed
            else _("You are number %(place)s in line.")
        )
    place, people = card.seen.position, card.seen.people_waiting
    return words % {"place": in_digits(place or 0), "people": in_digits(people)}


_HEADLINES = {
    CardState.OFFERED: lambda card: _("It is your turn."),
    CardState.LATE: lambda card: _("The time to confirm is over."),
    CardState.UNVERIFIED: lambda card: _("Is this your application?"),
    CardState.DRAWING: lambda card: _("You are in the draw."),
    CardState.WAITING: _waiting_headline,
    CardState.ACTIVE: lambda card: _("You have a seat."),
    CardState.CLOSING: lambda card: _("The company has closed this job."),
    CardState.ENDED: lambda card: card.standing.ending.headline,
}
