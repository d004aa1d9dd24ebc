"""Line in memory: its seats, its queue and its events. Pure."""

from __future__ import annotations

from bisect import insort
from datetime import datetime
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.states import EventType, Status
from pipeline.stats.idle_seats import SeatState
from pipeline.whatif.state import PersonState, SimulatedEvent


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
