"""Simulation of a line under other rules: state, behaviour and steps. Pure."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    PLANNED_SEATS,
    TIME_ZONE,
    VERIFY_WITHIN,
    EventType,
    Status,
)
from pipeline.figures.idle_seats import SeatState

# The wish that a waiting person states by an event: a time, or to pass the next turn.
WISHES: dict[str, str] = {
    "DEFERRED": "not_before",
    "PREACCEPTED": "accept_until",
    "PASS_ASKED": "pass_next",
}


class TooLong(Exception):
    """The simulation takes too long under these rules."""

    def __str__(self) -> str:
        return (
            "Under these rules the line changes too often to be run again. Try a longer window or"
            " cool-down, fewer misses, or fewer days."
        )


class SimulatedEvent(NamedTuple):
    """Event of a simulation: what happened, and the place and deadline after it."""

    seq: int
    at: datetime
    application_id: UUID | None
    event: str
    to_status: str | None
    ticket: int | None = None
    tie: int | None = None
    deadline: datetime | None = None
    misses: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """Other rules from a time on: fields of the policy by name, and the seats if they change."""

    since: datetime
    policy: dict[str, Any]
    capacity: int | None = None


@dataclass(slots=True)
class PersonState:
    """Person in a simulated line.

    `former_place` is the one before the last seat, miss or end. `lost`: the cause of the loss, a
    MISS or an END, if the place can be given back.
    """

    id: UUID
    status: Status | None = None
    ticket: int | None = None
    tie: int | None = None
    misses: int = 0
    eligible_at: datetime | None = None
    not_before: datetime | None = None
    accept_until: datetime | None = None
    pass_next: bool = False
    passes: int = 0
    verify_by: datetime | None = None
    deadline: datetime | None = None
    former_place: tuple[int, int] = (0, 0)
    # The place before the last miss, until it is given back; an offer that is passed leaves it.
    missed_place: tuple[int, int] | None = None
    cools_after_pass: bool = False
    lost: str = ""
    offers: int = 0
    reviews: int = 0

    def take_wish(self, kind: str, wanted: str | None) -> None:
        """Adopt the person's choice. A yes in advance and a pass cancel each other."""
        if kind == EventType.PASS_ASKED:
            self.pass_next = bool(wanted)
            self.accept_until = None if wanted else self.accept_until
            return
        setattr(self, WISHES[kind], datetime.fromisoformat(wanted) if wanted else None)
        if wanted and kind == EventType.PREACCEPTED:
            self.pass_next = False

    @property
    def place(self) -> tuple[int, int]:
        """Return the ticket and tie of a person who waits."""
        assert self.ticket is not None  # noqa: S101  who waits has a place
        assert self.tie is not None  # noqa: S101
        return self.ticket, self.tie

    def is_eligible(self, now: datetime) -> bool:
        """Tell whether a person who waits can be offered a seat."""
        ends = (self.eligible_at, self.not_before)
        return self.verify_by is None and not any(end and end > now for end in ends)


# Line in memory: its seats, its queue and its events. Pure.


class SimulatedLine:
    """A job's line at `now`, and its events so far."""

    def __init__(self, now: datetime) -> None:
        self.events: list[SimulatedEvent] = []
        self.states: list[SeatState] = []
        self.now = now
        self.status: str = JobStatus.DRAFT
        self.capacity = 0
        self.policy = Policy()
        self.next_ticket = 1
        self.held = 0
        self._pending = 0
        self.people: dict[UUID, PersonState] = {}
        self.queue: list[tuple[int, int, UUID]] = []
        self._unverified: set[UUID] = set()

    def pass_turn(self, person: PersonState) -> None:
        """Pass a turn, and keep the place. The cool-down lets the next in line have the seat."""
        if person.status is Status.PENDING_ACKNOWLEDGMENT:
            self.held, self._pending = self.held - 1, self._pending - 1
            person.ticket, person.tie = person.former_place
            insort(self.queue, (person.ticket, person.tie, person.id))
            person.lost = "MISS" if person.missed_place else ""
        person.status, person.deadline = Status.WAITLIST, None
        person.passes, person.pass_next = person.passes + 1, False
        person.eligible_at = self.policy.cooldown_until(self.now)
        person.cools_after_pass = True
        self._record(EventType.PASSED, person)

    def _queue_up(self, person: PersonState) -> None:
        person.tie = len(self.events) + 1
        person.ticket = self.next_ticket + self.policy.places_lost(person.misses)
        if not person.misses:
            self.next_ticket += 1
        insort(self.queue, (person.ticket, person.tie, person.id))

    def _record(self, event: str, person: PersonState | None = None) -> None:
        seq = len(self.events) + 1
        waiting = len(self.queue) - len(self._unverified)
        seats = (self.held - self._pending, self._pending, waiting)
        self.states.append(SeatState(self.now, self.status, self.capacity, *seats))
        if person is None:
            self.events.append(SimulatedEvent(seq, self.now, None, event, None))
            return
        place = (person.ticket, person.tie, person.deadline, person.misses)
        self.events.append(SimulatedEvent(seq, self.now, person.id, event, person.status, *place))


# Behaviour of the people in a log: when they applied, answered and left. Pure. A simulation repeats
# these times: absolute for acts while waiting, relative to the offer or to the start of the review
# for the rest.


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


# Replay of a line's history under another policy: the rules of the line in memory. Pure. The log
# says when people applied, answered and left (`behaviour`); the rules decide everything else.


# A run that goes beyond these is given up: under some rules, a line would never come to rest.
MOST_SIMULATED_EVENTS = 200_000
MOST_LOOKS = 20_000_000  # at people on the waitlist, in search of the next in line


class Simulation(SimulatedLine):
    """A line in memory, in which a log's people behave as they did.

    Without a change, it is settled only when the log was written, and its events equal the log's.
    With one, offers and cool-downs end at their own instants.
    """

    def __init__(self, log: Sequence[LoggedEvent], change: Change | None = None) -> None:
        super().__init__(log[0].at)
        self.behaviours: Behaviours = behaviours_in(log)
        self.change = change
        self._due: list[tuple[datetime, UUID]] = []
        self._coming: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = 0
        self._looks = 0
        self._planned_seats = deque(filter(is_planned_seats_change, log))
        for event in log:
            self._plan(event.at, self._step_of_event(event))
        if change:
            self._plan(change.since, lambda: self._change_rules(EventType.POLICY_CHANGED))

    def run(self, until: datetime) -> list[SimulatedEvent]:
        """Run to a time, and return all events so far. Can continue from there. Raises TooLong."""
        while self._coming and self._coming[0][0] <= until:
            self.now = self._coming[0][0]
            self._settle()
            while self._coming and self._coming[0][0] == self.now:
                _, _, step = heappop(self._coming)
                step()
                self._fill()
            if len(self.events) > MOST_SIMULATED_EVENTS or self._looks > MOST_LOOKS:
                raise TooLong
        return self.events

    def _plan(self, at: datetime, step: Callable[[], None]) -> None:
        self._numbers += 1
        heappush(self._coming, (at, self._numbers, step))

    def _touch(self, at: datetime) -> None:
        """Settle the line at this time too; before the change, only the log's times count."""
        if self.change and at >= self.change.since:
            self._plan(max(at, self.now), lambda: None)

    def _settle(self) -> None:
        if self.status == JobStatus.CLOSED:
            return
        overdue = []
        while self._due and self._due[0][0] <= self.now:
            at, who = heappop(self._due)
            person = self.people[who]
            if at in (person.deadline, person.verify_by):
                overdue.append((at, who))
        for _, who in sorted(overdue):
            person = self.people[who]
            if person.verify_by:
                self._move(person, EventType.LAPSED, Status.INACTIVE)
            else:
                person.misses += 1
                person.eligible_at = self.policy.cooldown_until(self.now)
                keeps = self.policy.keeps_place(person.misses)
                kind = EventType.DECAYED if keeps else EventType.LAPSED
                self._move(person, kind, Status.WAITLIST if keeps else Status.INACTIVE)
                person.lost, person.missed_place = "MISS", person.former_place
                self._touch(person.eligible_at)
        while self._planned_seats and self._planned_seats[0].at <= self.now:
            self._take_job_event(self._planned_seats.popleft())
        self._fill()

    def _fill(self) -> None:
        if self.status != JobStatus.OPEN:
            return
        while self.held < self.capacity:
            found = None
            for *_, who in self.queue:
                self._looks += 1
                if self.people[who].is_eligible(self.now):
                    found = who
                    break
            if found is None:
                return
            person = self.people[found]
            if person.pass_next:
                self.pass_turn_if_allowed(person)
                continue
            accepts = person.accept_until is not None and person.accept_until > self.now
            self._move(person, EventType.PROMOTED, Status.PENDING_ACKNOWLEDGMENT)
            if accepts:
                self._move(person, EventType.ACKNOWLEDGED, Status.ACTIVE)

    def _move(self, person: PersonState, event: EventType, to: Status) -> None:
        """Move a person, and plan what follows from it."""
        before, offered = person.status, Status.PENDING_ACKNOWLEDGMENT
        place = person.place if before is Status.WAITLIST else None
        if place:
            self.queue.remove((*place, person.id))
        self.held += to.holds_seat - bool(before and before.holds_seat)
        self._pending += (to is offered) - (before is offered)
        person.status, person.ticket, person.tie, person.deadline = to, None, None, None
        person.lost = "END" if to is Status.INACTIVE else ""
        person.not_before = person.accept_until = None
        person.pass_next = False
        if place or before is None:
            behind = self.policy.places_lost(person.misses)
            person.former_place = place or (self.next_ticket + behind, len(self.events) + 1)
        if to is Status.WAITLIST:
            self._queue_up(person)
        elif to is Status.PENDING_ACKNOWLEDGMENT:
            zone = self.behaviours.of[person.id].zone(person.offers)
            person.eligible_at, person.deadline = None, self.policy.deadline(self.now, zone)
            person.cools_after_pass = False
            heappush(self._due, (person.deadline, person.id))
            self._touch(person.deadline)
            self._plan_answer(person)
        elif to is Status.ACTIVE:
            self._plan_end_of_review(person)
        elif to is Status.INACTIVE:
            person.verify_by = None
            self._unverified.discard(person.id)
        self._record(event, person)

    def pass_turn_if_allowed(self, person: PersonState) -> None:
        """Pass a turn if the rules allow it; an offer that cannot be passed runs out."""
        if person.pass_next or self.policy.passes_left(person.passes):
            self.pass_turn(person)
            self._touch(person.eligible_at or self.now)

    def answer_as_logged(self, person: PersonState, answer: Answer) -> None:
        """End an offer as the person did; a closed job accepts neither a yes nor a pass."""
        if self.status == JobStatus.CLOSED and answer.stays:
            return
        if answer.confirmed:
            self._move(person, EventType.ACKNOWLEDGED, Status.ACTIVE)
        elif answer.passed:
            self.pass_turn_if_allowed(person)
        else:
            self._move(person, EventType.WITHDRAWN, Status.INACTIVE)

    def _plan_answer(self, person: PersonState) -> None:
        behaviour = self.behaviours.of[person.id]
        number, offered_at = person.offers, self.now
        person.offers += 1
        answer = behaviour.answer(number, self.behaviours.usual_answer)

        def simulate_answer() -> None:
            if person.offers == number + 1 and person.deadline is not None:
                self.answer_as_logged(person, answer)

        def simulate_extension() -> None:
            if person.offers == number + 1 and person.deadline is not None:
                person.deadline += more
                heappush(self._due, (person.deadline, person.id))
                self._touch(person.deadline)
                self._record(EventType.DEADLINE_EXTENDED, person)

        if number in behaviour.extensions:
            after, more = behaviour.extensions[number]
            self._plan(offered_at + after, simulate_extension)
        if answer.after is not None:
            self._plan(offered_at + answer.after, simulate_answer)

    def _plan_end_of_review(self, person: PersonState) -> None:
        behaviour = self.behaviours.of[person.id]
        lasts = behaviour.review(person.reviews, self.behaviours.usual_review)
        person.reviews += 1

        def simulate_end_of_review() -> None:
            if person.status is Status.ACTIVE:
                self._move(person, EventType.REMOVED, Status.INACTIVE)

        if lasts is not None:
            self._plan(self.now + lasts, simulate_end_of_review)

    def _step_of_event(self, event: LoggedEvent) -> Callable[[], None]:
        """Return the step that a row of the log causes by itself; most only settle the line."""
        who, kind = event.application_id, event.event
        if is_planned_seats_change(event):
            return lambda: None
        if who is None:
            return lambda: self._take_job_event(event)
        steps: dict[str, Callable[[], None]] = {
            EventType.APPLIED: lambda: self._apply(event, who),
            EventType.VERIFIED: lambda: self._verify(self.people[who]),
            EventType.REINSTATED: lambda: self._give_place_back(self.people[who], event),
            **dict.fromkeys(
                WISHES, lambda: self._wish(self.people[who], kind, event.data.get(WISHES[kind]))
            ),
        } | {each: lambda: self._note_contest(self.people[who], kind) for each in OF_CONTESTS}
        if step := steps.get(kind):
            return step
        waited = event.from_status == Status.WAITLIST and event.to_status == Status.INACTIVE
        if kind == EventType.CLOSED_OUT or (waited and kind != EventType.LAPSED):
            return lambda: self._leave(self.people[who], EventType(kind))
        return lambda: None

    def _take_job_event(self, event: LoggedEvent) -> None:
        self.status = event.data["status"]
        self.capacity = event.data["capacity"]
        self.policy = Policy(**logged_policy_values(event.data["policy"]))
        self._change_rules(event.event)

    def _change_rules(self, event: str) -> None:
        if self.change and self.now >= self.change.since:
            self.policy = Policy(**(self.policy.values() | self.change.policy))
            self.capacity = self.change.capacity or self.capacity
        self._record(event)

    def _apply(self, event: LoggedEvent, who: UUID) -> None:
        eligible_at, is_verified = event.data.get("eligible_at"), "verify_by" not in event.data
        person = self.people[who] = PersonState(who, misses=event.data["decay_count"])
        person.passes = event.data.get("passes_used", 0)
        if eligible_at:
            person.eligible_at = datetime.fromisoformat(eligible_at)
            self._touch(person.eligible_at)
        if not is_verified:
            person.verify_by = self.now + VERIFY_WITHIN
            self._unverified.add(who)
            heappush(self._due, (person.verify_by, who))
            self._touch(person.verify_by)
        cools = person.eligible_at is not None and person.eligible_at > self.now
        if cools or not is_verified or self.held >= self.capacity:
            to = Status.WAITLIST
        elif self.policy.acknowledge_first_seat:
            to = Status.PENDING_ACKNOWLEDGMENT
        else:
            to = Status.ACTIVE
        self._move(person, EventType.APPLIED, to)

    def _verify(self, person: PersonState) -> None:
        if person.status is Status.WAITLIST and person.verify_by:
            person.verify_by = None
            self._unverified.discard(person.id)
            self._record(EventType.VERIFIED, person)

    def _wish(self, person: PersonState, kind: str, wanted: str | None) -> None:
        if person.status is Status.WAITLIST:  # one who has an offer answers it
            person.take_wish(kind, wanted)
            self._touch(person.not_before or self.now)
            self._record(kind, person)

    def _leave(self, person: PersonState, kind: EventType) -> None:
        if person.status in (Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT):
            self._move(person, kind, Status.INACTIVE)

    def _note_contest(self, person: PersonState, kind: str) -> None:
        if person.lost and person.status is Status.INACTIVE:
            self._record(kind, person)

    def _give_place_back(self, person: PersonState, event: LoggedEvent) -> None:
        if person.lost != ("MISS" if "missed" in event.data else "END"):
            return
        if person.status is Status.WAITLIST:
            self.queue.remove((*person.place, person.id))
        person.ticket, person.tie = person.former_place
        if person.lost == "MISS":
            person.ticket, person.tie = person.missed_place or person.former_place
            person.misses -= 1
            person.eligible_at = person.eligible_at if person.cools_after_pass else None
        person.status, person.lost, person.missed_place = Status.WAITLIST, "", None
        insort(self.queue, (person.ticket, person.tie, person.id))
        self._record(EventType.REINSTATED, person)
