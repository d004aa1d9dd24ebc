"""Simulation of a line under other rules: a log's people, and the rules of the line.

Pure: the line is in memory (`pipeline.line.sources.Memory`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.translation import gettext_noop

from jobs.models import JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.domain.contests import ANSWER, CONTESTABLE, OF_CONTESTS, ContestAnswer
from pipeline.domain.errors import LineError
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    CLOSES_AT,
    DECISIONS,
    EXCEPTION,
    FILLED_BY,
    HIRED,
    OF_ANSWERS,
    OPENS_AT,
    PLANNED_SEATS,
    POSITIONS,
    SYSTEM,
    TIME_ZONE,
    EventType,
    ExceptionReason,
    Move,
    Outcome,
    Status,
)
from pipeline.figures.idle_seats import SeatState, seat_state
from pipeline.line.admission import (
    admit,
    admit_verified,
    give_missed_place_back,
    move_to_front,
    offer_free_seat,
    pass_offered_seat,
)
from pipeline.line.event_log import LogEntry, parse_logged_time
from pipeline.line.lock import History, read_locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.misses import DECIDED
from pipeline.line.moves import change_job_status, make_job_move, make_move
from pipeline.line.settle import close_out_batch, fill_seats, settle_due
from pipeline.line.sources import Memory
from pipeline.line.write import write
from pipeline.models import Application, PlannedSeats

# The wish that a waiting person states by an event, and its move: a time, or to pass the next turn.
WISHES: dict[str, tuple[str, Move]] = {
    "DEFERRED": ("not_before", Move.DEFER),
    "PREACCEPTED": ("accept_until", Move.PREACCEPT),
    "PASS_ASKED": ("pass_next", Move.ASK_PASS),
}


class TooLong(Exception):
    """The simulation takes too long under these rules."""

    def __str__(self) -> str:
        return gettext_noop(
            "Under these rules the line changes too often to be run again. Try a longer window or"
            " cool-down, fewer misses, or fewer days."
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Other rules from a time on: fields of the policy by name, and the seats if they change."""

    since: datetime
    policy: dict[str, Any]
    capacity: int | None = None


# Behaviour of the people in a log: when they applied, answered and left. Pure. A simulation repeats
# these times: absolute for acts while waiting, relative to the offer or to the start of the review
# for the rest.


_WITHOUT_CHOICE = (
    EventType.VERIFIED,
    EventType.DEFERRED,
    EventType.PREACCEPTED,
    EventType.PASS_ASKED,
    *OF_CONTESTS,
    *OF_ANSWERS,
)
_MOVES = {
    EventType.ACKNOWLEDGED: Move.ACKNOWLEDGE,
    EventType.PASSED: Move.PASS,
    EventType.WITHDRAWN: Move.WITHDRAW,
    EventType.CLOSED_OUT: Move.CLOSE_OUT,
}
_UNANSWERED = frozenset((EventType.DECAYED, EventType.LAPSED, EventType.CLOSED_OUT))


class LoggedEvent(NamedTuple):
    """A row of a job's log, as far as a simulation needs it."""

    seq: int
    at: datetime
    effective_at: datetime
    application_id: UUID | None
    event: str
    from_status: str | None
    to_status: str | None
    outcome: str | None
    data: dict[str, Any]


class Answer(NamedTuple):
    """Move that ended an offer, `after` it; None for an offer that was not answered.

    `in_advance`: the person had confirmed before the offer.
    """

    after: timedelta | None = None
    move: Move | None = None
    in_advance: bool = False


class Review(NamedTuple):
    """Move that ended a review, and how long it lasted; None while it still lasts."""

    lasts: timedelta | None = None
    move: Move = Move.REMOVE


@dataclass(slots=True)
class Behaviour:
    """Behaviour of one person.

    `zones` are the time zones by which offers left out the quiet hours; empty if they had none.
    `extensions` are those of each offer: how long after it, and by how much.
    """

    answers: list[Answer] = field(default_factory=list)
    zones: list[str] = field(default_factory=list)
    extensions: dict[int, list[tuple[timedelta, timedelta]]] = field(default_factory=dict)
    reviews: list[Review] = field(default_factory=list)

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

    def review(self, number: int, usual: Review) -> Review:
        """Return the person's review of that number, from 0 on."""
        return self.reviews[min(number, len(self.reviews) - 1)] if self.reviews else usual


@dataclass(frozen=True, slots=True)
class Behaviours:
    """Behaviour of everyone in a log, and the usual behaviour."""

    of: dict[UUID, Behaviour]
    usual_answer: Answer
    usual_review: Review


def read_behaviours(log: Iterable[LoggedEvent]) -> Behaviours:
    """Read from a log how everyone behaved."""
    of: dict[UUID, Behaviour] = {}
    last: dict[UUID, LoggedEvent] = {}
    deadlines: dict[UUID, datetime] = {}
    for event in log:
        if event.application_id is None or event.event in _WITHOUT_CHOICE:
            continue
        person = of.setdefault(event.application_id, Behaviour())
        before = last.get(event.application_id)
        if before and event.event == EventType.DEADLINE_EXTENDED:
            until = _logged_deadline(event)
            more = until - deadlines[event.application_id]
            deadlines[event.application_id] = until
            earlier = person.extensions.setdefault(len(person.answers) - 1, [])
            earlier.append((event.at - before.at, more))
            continue
        _note_ending(person, event, before)
        if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
            person.answers.append(Answer())
            person.zones.append(event.data.get(TIME_ZONE, ""))
            deadlines[event.application_id] = _logged_deadline(event)
        elif event.to_status == Status.ACTIVE:
            person.reviews.append(Review())
        last[event.application_id] = event
    # A yes in advance says nothing about the time that an answer to an offer takes.
    given = [each for person in of.values() for each in person.answers if not each.in_advance]
    usual = _median_behaviour([each.after for each in given if each.move is Move.ACKNOWLEDGE])
    lasts = _median_behaviour([each.lasts for person in of.values() for each in person.reviews])
    return Behaviours(of, Answer(usual, Move.ACKNOWLEDGE if usual else None), Review(lasts))


def _note_ending(person: Behaviour, event: LoggedEvent, before: LoggedEvent | None) -> None:
    """Note how an open offer or a review ends by an event, if it does."""
    if before is None:
        return
    if event.from_status == Status.PENDING_ACKNOWLEDGMENT:
        if event.event not in _UNANSWERED:
            in_advance = ACCEPTED_UNTIL in event.data
            person.answers[-1] = Answer(event.at - before.at, _move_of(event), in_advance)
    elif event.from_status == Status.ACTIVE:
        person.reviews[-1] = Review(event.at - before.at, _move_of(event))


def _move_of(event: LoggedEvent) -> Move:
    """Return the move by which a person, or the company, ended an offer, a review or a wait."""
    if event.event == EventType.REMOVED:
        return DECISIONS[Outcome(str(event.outcome))]
    return _MOVES[EventType(event.event)]


def _logged_deadline(event: LoggedEvent) -> datetime:
    return datetime.fromisoformat(event.data["deadline"])


def _median_behaviour(spans: Iterable[timedelta | None]) -> timedelta | None:
    seconds = [span.total_seconds() for span in spans if span is not None]
    return timedelta(seconds=median(seconds)) if seconds else None


# Replay of a line's history under other rules. The log says when people applied, answered and left;
# the rules of the line decide everything else, as they decide under the lock.


# A run that goes beyond these is given up: under some rules, a line would never come to rest.
MOST_SIMULATED_EVENTS = 200_000
MOST_LOOKS = 20_000_000  # at people on the waitlist, in search of the next in line

Step = Callable[[LockedJob], None]
Act = Callable[[LockedJob, Application, LoggedEvent], None]


class Simulation:
    """A line in memory, in which a log's people behave as they did.

    Without a change, it is settled only when the log was written, and its events equal the log's.
    With one, offers and cool-downs end at their own instants.
    """

    def __init__(self, log: Sequence[LoggedEvent], change: Change | None = None) -> None:
        self.behaviours: Behaviours = read_behaviours(log)
        self.change = change
        self.line = Memory()
        self._coming: list[tuple[datetime, int, bool, Step | None]] = []
        self._numbers = 0
        self._followed = 0
        self._offers, self._reviews = Counter[UUID](), Counter[UUID]()
        self._wakes_at: datetime | None = None
        self._closes_when_filled = any(FILLED_BY in event.data for event in log)
        job = self.line.create(log[0].at)
        self._plan_seats(job, log)
        write(job)
        for event in log:
            is_dropped = event.data.get(ANSWER) == ContestAnswer.DROPPED
            self._plan(event.at, self._step_of_event(event), settles=not is_dropped)
        if change:
            self._plan(change.since, self._change_rules)

    @property
    def events(self) -> list[LogEntry]:
        """Return the log of the simulation so far."""
        return self.line.log

    @property
    def states(self) -> list[SeatState]:
        """Return the state of the seats after each event."""
        states, job = [], self.events[0].data
        for each in self.events:
            data = each.data
            job = data if each.application_id is None else job
            waiting = data["waiting"] - data["unverified"]
            counters = data["active"], data["pending"], waiting, data.get(HIRED), None
            rules = job["status"], job["capacity"], job.get(POSITIONS), None
            states.append(seat_state(each.at, rules, counters))
        return states

    def run(self, until: datetime) -> list[LogEntry]:
        """Run to a time, and return all events so far. Can continue from there. Raises TooLong."""
        while self._coming and self._coming[0][0] <= until:
            job, settles, steps = self.line.lock(self._coming[0][0]), False, []
            while self._coming and self._coming[0][0] <= job.now:
                _, _, each_settles, step = heappop(self._coming)
                settles = settles or each_settles
                steps.append(step)
            self._make_change(job, filter(None, steps), settles=settles)
            self._follow_change(job)
            if len(self.events) > MOST_SIMULATED_EVENTS or self.line.looks > MOST_LOOKS:
                raise TooLong
        return self.events

    def _plan(self, at: datetime, step: Step | None = None, *, settles: bool = True) -> None:
        """Plan a step; None only settles the line."""
        self._numbers += 1
        heappush(self._coming, (at, self._numbers, settles, step))

    def _plan_seats(self, job: LockedJob, log: Iterable[LoggedEvent]) -> None:
        """Plan the changes of seats that plans made, unless the seats are others then."""
        capacity = 0
        for event in log:
            if event.application_id is not None:
                continue
            before, capacity = capacity, event.data["capacity"]
            is_other = self.change and self.change.capacity and event.at >= self.change.since
            if PLANNED_SEATS not in event.data or is_other:
                continue
            at, id = event.effective_at, UUID(event.data[PLANNED_SEATS])
            plan = PlannedSeats(id=id, job_id=job.id, seats=capacity - before, times=1)
            plan.first_at = plan.next_at = at
            self.line.plans.append(plan)
            job.note_due(at)

    def _make_change(self, job: LockedJob, steps: Iterable[Step], *, settles: bool) -> None:
        """Settle the line, and let everything happen that happens at this time."""
        if job.status is not JobStatus.CLOSED:
            if settles:
                settle_due(job)
        elif self._is_changed(job.now) and job.is_due:
            close_out_batch(job)  # else the log says when
        for step in steps:
            with suppress(LineError):  # under other rules, a person may be refused
                step(job)
            write(job)
        if settles:
            fill_seats(job)
            write(job)

    def _is_changed(self, at: datetime) -> bool:
        return self.change is not None and at >= self.change.since

    def _follow_change(self, job: LockedJob) -> None:
        """Plan what follows from the new events, and the next settlement.

        Before the rules change, only the log's times count.
        """
        for entry in self.events[self._followed :]:
            if entry.application_id is None or entry.event == EventType.DEADLINE_EXTENDED:
                continue
            if entry.to_status == Status.PENDING_ACKNOWLEDGMENT:
                self._plan_answer(entry.application_id, entry.at)
            elif entry.to_status == Status.ACTIVE:
                self._plan_end_of_review(entry.application_id, entry.at)
        self._followed = len(self.events)
        if self._wakes_at and self._wakes_at <= job.now:
            self._wakes_at = None
        due = job.next_due_at and max(job.next_due_at, job.now)
        if due and due != self._wakes_at and self._is_changed(due):
            self._plan(due)
            self._wakes_at = due

    def _plan_answer(self, who: UUID, offered_at: datetime) -> None:
        behaviour, number = self.behaviours.of[who], self._offers[who]
        self._offers[who] += 1
        self.line.zones[who] = behaviour.zone(number + 1)
        answer = behaviour.answer(number, self.behaviours.usual_answer)

        def while_open(job: LockedJob, act: Callable[[LockedJob, Application], None]) -> None:
            application = read_locked_application(job, who)
            is_open = application.status == Status.PENDING_ACKNOWLEDGMENT
            if is_open and self._offers[who] == number + 1:
                act(job, application)

        for after, more in behaviour.extensions.get(number, ()):
            self._plan(offered_at + after, partial(while_open, act=partial(_extend, more=more)))
        if answer.after is not None and answer.move:
            act = partial(_answer, move=answer.move)
            self._plan(offered_at + answer.after, partial(while_open, act=act))

    def _plan_end_of_review(self, who: UUID, began_at: datetime) -> None:
        behaviour, number = self.behaviours.of[who], self._reviews[who]
        self._reviews[who] += 1
        review = behaviour.review(number, self.behaviours.usual_review)

        def end_review(job: LockedJob) -> None:
            application = read_locked_application(job, who)
            if application.status == Status.ACTIVE:
                if review.move is Move.HIRE and job.is_filled:  # the company goes on hiring
                    job.positions_to_fill = job.hired_count + 1
                make_move(job, application, review.move)
                if review.move is Move.HIRE and job.is_filled and self._closes_when_filled:
                    change_job_status(job, JobStatus.CLOSED, actor=SYSTEM)

        if review.lasts is not None:
            self._plan(began_at + review.lasts, end_review)

    def _step_of_event(self, event: LoggedEvent) -> Step | None:
        """Return the step that a row of the log causes by itself; most only settle the line."""
        who, kind = event.application_id, event.event
        if who is None:
            return None if _follows_by_itself(event) else partial(self._change_job, event=event)
        if kind == EventType.APPLIED:
            return partial(self._apply, event=event)
        waited = event.from_status == Status.WAITLIST and event.to_status == Status.INACTIVE
        acts: dict[str, Act] = {"VERIFIED": _verify, "REINSTATED": _give_place_back}
        acts["MOVED_AHEAD"] = _move_ahead
        acts |= dict.fromkeys(WISHES, _wish) | dict.fromkeys(OF_CONTESTS, _note_contest)
        if kind == EventType.CLOSED_OUT or (waited and kind != EventType.LAPSED):
            acts[kind] = _leave
        if kind not in acts:
            return None
        return lambda job: acts[kind](job, read_locked_application(job, who), event)

    def _change_job(self, job: LockedJob, event: LoggedEvent) -> None:
        job.status = JobStatus(event.data["status"])
        job.capacity = event.data["capacity"]
        job.policy = Policy(**logged_policy_values(event.data["policy"]))
        positions = event.data.get(POSITIONS)
        job.positions_to_fill = positions and max(positions, job.hired_count)
        job.opens_at = parse_logged_time(event.data.get(OPENS_AT))
        job.closes_at = parse_logged_time(event.data.get(CLOSES_AT))
        if date := job.next_date(job.now):
            job.note_due(date)
        if job.status is JobStatus.CLOSED:
            job.closed_at = job.closed_at or job.now
            self.line.plans.clear()
            job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
        self._change_rules(job, EventType(event.event))

    def _change_rules(self, job: LockedJob, kind: EventType = EventType.POLICY_CHANGED) -> None:
        if self.change and self._is_changed(job.now):
            job.policy = Policy(**(job.policy.values() | self.change.policy))
            job.capacity = self.change.capacity or job.capacity
        entry = make_job_move(job, kind, actor=SYSTEM)
        fill_seats(job, cause_seq=entry.seq)

    def _apply(self, job: LockedJob, event: LoggedEvent) -> None:
        data, who = event.data, event.application_id
        assert who is not None  # noqa: S101  the event is about a person
        history = History(
            live=None,
            unverified=None,
            decided=None,
            misses=data["decay_count"],
            eligible_at=parse_logged_time(data.get("eligible_at")),
            time_zone=self.behaviours.of[who].zone(0),
            passes=data.get("passes_used", 0),
            passed_at=parse_logged_time(data.get("passed_at")),
        )
        verified = "verify_by" not in data
        person: dict[str, Any] = {"applicant_id": who, "application_id": who, "name": ""}
        admit(job, history, actor=SYSTEM, verified=verified, **person)


def _follows_by_itself(event: LoggedEvent) -> bool:
    """Tell whether an event of a job follows from its plans, its dates or a hiring."""
    dates = {EventType.JOB_OPENED.value: OPENS_AT, EventType.JOB_CLOSED.value: CLOSES_AT}
    announced = parse_logged_time(event.data.get(dates.get(event.event, "")))
    is_announced = announced is not None and announced == event.effective_at
    return is_announced or PLANNED_SEATS in event.data or FILLED_BY in event.data


# What people and companies do, if it can be done in the line as it is.


def _answer(job: LockedJob, application: Application, *, move: Move) -> None:
    stays = move in (Move.ACKNOWLEDGE, Move.PASS)
    if stays and job.status is JobStatus.CLOSED:
        return
    if move is not Move.PASS:
        make_move(job, application, move)
    elif job.policy.passes_left(application.passes_used):
        pass_offered_seat(job, application, actor=SYSTEM)


def _extend(job: LockedJob, application: Application, *, more: timedelta) -> None:
    if job.status is not JobStatus.CLOSED and application.acknowledge_by:
        application.acknowledge_by += more
        make_move(job, application, Move.EXTEND)


def _verify(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    admit_verified(job, application, actor=SYSTEM)


def _wish(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    if application.status != Status.WAITLIST:  # one who has an offer answers it
        return
    name, move = WISHES[event.event]
    wanted = event.data.get(name)
    is_time = move is not Move.ASK_PASS
    setattr(application, name, parse_logged_time(wanted) if is_time else bool(wanted))
    entry = make_move(job, application, move)
    if move is Move.DEFER:
        offer_free_seat(job, application, cause_seq=entry.seq)


def _leave(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    if application.status in (Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT):
        make_move(job, application, _move_of(event))


def _note_contest(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    if application.outcome in CONTESTABLE:
        asked = event.event == EventType.CONTESTED
        make_move(job, application, Move.CONTEST if asked else Move.ANSWER_CONTEST)


def _move_ahead(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    """Move a person to the front, if they wait and others are ahead of them."""
    if application.status == Status.WAITLIST and job.status is not JobStatus.CLOSED:
        reason = ExceptionReason(event.data[EXCEPTION])
        move_to_front(job, application, reason=reason, actor=SYSTEM)


def _give_place_back(job: LockedJob, application: Application, event: LoggedEvent) -> None:
    """Give a place back if it was lost in the same way as in the log: by a miss, or by an end."""
    ends = (None, Outcome.LAPSED) if "missed" in event.data else DECIDED
    if application.outcome not in ends or not application.is_verified:
        return
    miss = job.source.last_miss(application)
    is_back = miss.is_given_back and application.status != Status.INACTIVE
    holds_seat = Status(application.status).holds_seat
    if not is_back and not holds_seat and job.status is not JobStatus.CLOSED:
        miss.refuse_giving_back()
        give_missed_place_back(job, application, miss, actor=SYSTEM, facts={})
