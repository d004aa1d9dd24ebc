"""Replay of a line's history under another policy: the rules of the line in memory. Pure.

The log says when people applied, answered and left (`behaviour`); the rules decide everything
else.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from heapq import heappop, heappush
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.states import VERIFY_WITHIN, EventType, Status
from pipeline.whatif.behaviour import (
    Answer,
    Behaviours,
    LoggedEvent,
    behaviours_in,
    is_planned_seats_change,
)
from pipeline.whatif.line import SimulatedLine
from pipeline.whatif.state import WISHES, Change, PersonState, SimulatedEvent, TooLong

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
