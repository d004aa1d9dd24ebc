"""Behaviour of the people in a log: when they applied, answered and left. Pure.

A simulation repeats these times: absolute for acts while waiting, relative to the offer or to the
start of the review for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.states import ACCEPTED_UNTIL, PLANNED_SEATS, TIME_ZONE, EventType, Status

_WITHOUT_CHOICE = (
    EventType.VERIFIED,
    EventType.DEFERRED,
    EventType.PREACCEPTED,
    EventType.PASS_ASKED,
    *OF_CONTESTS,
)
_UNANSWERED = frozenset((EventType.DECAYED, EventType.LAPSED, EventType.CLOSED_OUT))


class LoggedEvent(NamedTuple):
    """A row of a job's log, as far as a simulation needs it."""

    seq: int
    at: datetime
    application_id: UUID | None
    event: str
    from_status: str | None
    to_status: str | None
    data: dict[str, Any]


class Answer(NamedTuple):
    """End of an offer: `after` the offer, or None for an offer that was not answered.

    `confirmed` is False for a person who left, or whom the company decided on, at that time.
    `in_advance`: they had confirmed before the offer. `passed`: they passed it.
    """

    after: timedelta | None
    confirmed: bool
    in_advance: bool = False
    passed: bool = False

    @property
    def stays(self) -> bool:
        """Tell whether the person stays in line or in the seat."""
        return self.confirmed or self.passed


@dataclass(slots=True)
class Behaviour:
    """Behaviour of one person. `reviews` are the times that reviews took; None: it still lasts.

    `zones` are the time zones by which offers left out the quiet hours; empty if they had none.
    """

    answers: list[Answer] = field(default_factory=list)
    zones: list[str] = field(default_factory=list)
    extensions: dict[int, tuple[timedelta, timedelta]] = field(default_factory=dict)
    reviews: list[timedelta | None] = field(default_factory=list)

    def answer(self, number: int, usual: Answer) -> Answer:
        """Return the answer to the person's offer of that number, from 0 on.

        Further offers get the answer to the last one, and people without any offer give the usual
        answer. A yes in advance does not answer an offer that must be confirmed, so such an offer
        gets the answer to their last one of that kind.
        """
        answer = self.answers[min(number, len(self.answers) - 1)] if self.answers else usual
        if not answer.in_advance:
            return answer
        return next((each for each in reversed(self.answers) if not each.in_advance), usual)

    def zone(self, number: int) -> str:
        """Return the time zone of the person's offer of that number, or else the last one."""
        return self.zones[min(number, len(self.zones) - 1)] if self.zones else ""

    def review(self, number: int, usual: timedelta | None) -> timedelta | None:
        """Return how long the person's review of that number lasts, from 0 on."""
        return self.reviews[min(number, len(self.reviews) - 1)] if self.reviews else usual


@dataclass(frozen=True, slots=True)
class Behaviours:
    """Behaviour of everyone in a log, and the usual behaviour."""

    of: dict[UUID, Behaviour]
    usual_answer: Answer
    usual_review: timedelta | None


def behaviours_in(log: Iterable[LoggedEvent]) -> Behaviours:
    """Read from a log how everyone behaved."""
    of: dict[UUID, Behaviour] = {}
    last: dict[UUID, LoggedEvent] = {}
    for event in log:
        if event.application_id is None or event.event in _WITHOUT_CHOICE:
            continue
        person = of.setdefault(event.application_id, Behaviour())
        before = last.get(event.application_id)
        if before and event.event == EventType.DEADLINE_EXTENDED:
            more = _deadline_in_behaviour(event) - _deadline_in_behaviour(before)
            person.extensions[len(person.answers) - 1] = (event.at - before.at, more)
            continue
        _note_ending_of_behaviour(person, event, before)
        if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
            person.answers.append(Answer(None, confirmed=False))
            person.zones.append(event.data.get(TIME_ZONE, ""))
        elif event.to_status == Status.ACTIVE:
            person.reviews.append(None)
        last[event.application_id] = event
    # A yes in advance says nothing about the time that an answer to an offer takes.
    given = [each for person in of.values() for each in person.answers if not each.in_advance]
    answers = [each.after for each in given if each.confirmed]
    usual = _median_behaviour(answers)
    reviews = _median_behaviour([span for person in of.values() for span in person.reviews])
    return Behaviours(of, Answer(usual, confirmed=usual is not None), reviews)


def _note_ending_of_behaviour(
    person: Behaviour, event: LoggedEvent, before: LoggedEvent | None
) -> None:
    """Note how an open offer or a review ends by an event, if it does."""
    if before is None:
        return
    if event.from_status == Status.PENDING_ACKNOWLEDGMENT:
        confirmed = event.event == EventType.ACKNOWLEDGED
        after = None if event.event in _UNANSWERED else event.at - before.at
        passed, in_advance = event.event == EventType.PASSED, ACCEPTED_UNTIL in event.data
        person.answers[-1] = Answer(after, confirmed, in_advance, passed)
    elif event.from_status == Status.ACTIVE:
        person.reviews[-1] = event.at - before.at


def _deadline_in_behaviour(event: LoggedEvent) -> datetime:
    return datetime.fromisoformat(event.data["deadline"])


def _median_behaviour(spans: Iterable[timedelta | None]) -> timedelta | None:
    seconds = [span.total_seconds() for span in spans if span is not None]
    return timedelta(seconds=median(seconds)) if seconds else None


def is_planned_seats_change(event: LoggedEvent) -> bool:
    """Tell whether a row of the log is a change of seats that a plan made."""
    return event.event == EventType.CAPACITY_CHANGED and PLANNED_SEATS in event.data
