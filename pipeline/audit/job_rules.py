"""Rules of the fold of a log for the job itself: draws, positions, dates, planned seats.

Like the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.models import MAX_CAPACITY, MAX_POSITIONS, JobStatus
from pipeline.domain import draw
from pipeline.domain.draw import ALGORITHM, drawn_order
from pipeline.domain.place import PlaceState
from pipeline.domain.states import (
    CLAIM_DIGEST,
    FILLED_BY,
    PLANNED_CHANGE,
    PLANNED_SEATS,
    RESERVED_FOR,
    RESERVED_SEATS,
    RESERVED_UNTIL,
    ActorKind,
    EventType,
    GroupKind,
    Outcome,
    Status,
)
from pipeline.line.event_log import logged_time, parse_logged_time
from pipeline.models import MOST_TIMES, Event
from pipeline.selectors.past import PastPlace

# Fold of a draw by lot: it recomputes the draw from its seed, and with it each person's place.


class DrawFold:
    """Draw of a job according to its log so far. Each check returns the fault, or nothing."""

    def __init__(self, job_id: UUID) -> None:
        self.job_id = job_id
        self.draw_at: datetime | None = None
        self.drawn_at: datetime | None = None
        self._seq = 0
        self._to_place: list[UUID] = []

    @property
    def is_unfinished(self) -> bool:
        """Tell whether the draw still has people to place."""
        return bool(self._to_place)

    def check_job_event(self, event: Event, waiting: Collection[UUID], *, is_open: bool) -> str:
        """Check a job's event: the announced time stays once the job is open, the draw comes once.

        `waiting`: everyone on the waitlist. `is_open`: people could join before this event.
        """
        announced = parse_logged_time(event.data.get("draw_at"))
        if self._to_place:
            return "it comes before everyone has been placed by the draw"
        if is_open and announced != self.draw_at:
            return "the time of the draw changed after the job had opened"
        self.draw_at = announced
        if event.event != EventType.DRAWN:
            return ""
        seed, data = draw.seed(bytes(event.prev_hash), logged_time(event.at)), event.data
        if announced is None or self.drawn_at is not None or not is_open:
            return "nothing is to be drawn"
        if event.effective_at != announced or event.at < announced:
            return "the order was drawn at another time than announced"
        if event.actor_kind != ActorKind.SYSTEM or data["algorithm"] != ALGORITHM:
            return "the order was drawn otherwise than announced"
        if data["seed"] != seed.hex() or data["drawn"] != len(waiting):
            return "its seed is not that of the hash before it, or not everyone takes part"
        self.drawn_at, self._seq = event.at, event.seq
        self._to_place = drawn_order(seed, self.job_id, waiting)[::-1]
        return ""

    def check_application_event(self, event: Event, next_ticket: int) -> str:
        """Check an application's event: no seat before the draw, and the drawn places after it."""
        if event.event == EventType.PLACED:
            due = self._to_place.pop() if self._to_place else None
            if event.application_id != due or event.cause_seq != self._seq:
                return "the draw places someone else here"
            if event.data["ticket"] != next_ticket or event.effective_at != self.draw_at:
                return "its place is not the next one of the draw"
        elif self._to_place:
            return "it comes before everyone has been placed by the draw"
        if self.draw_at is None or self.drawn_at is not None:
            return ""
        seats = event.to_status is not None and Status(event.to_status).holds_seat
        if seats or event.event == EventType.MOVED_AHEAD:
            return "it gives a seat, or moves a person ahead, before the draw"
        if event.event == EventType.APPLIED and event.at >= self.draw_at:
            return "it lets someone into the draw after entries had closed"
        return ""


# Fold of a job's positions to fill and of its announced dates.


class PositionsFold:
    """Positions to fill, hirings and dates of a log so far. Each check returns the fault."""

    def __init__(self) -> None:
        self.to_fill: int | None = None
        self.hired = 0
        self.opens_at: datetime | None = None
        self.closes_at: datetime | None = None
        self._last_hired = 0

    @property
    def is_filled(self) -> bool:
        """Tell whether every position is filled."""
        return self.to_fill is not None and self.hired >= self.to_fill

    def check_job_event(self, event: Event, status: str | None) -> str:
        """Check that only a company changes positions and dates, and the system keeps to them.

        `status`: the job's before the event.
        """
        positions, before = event.data.get("positions_to_fill"), self.to_fill
        dates = [parse_logged_time(event.data.get(name)) for name in ("opens_at", "closes_at")]
        dates_before = [self.opens_at, self.closes_at]
        self.to_fill, (self.opens_at, self.closes_at) = positions, dates
        if positions is not None and not max(1, self.hired) <= positions <= MAX_POSITIONS:
            return f"a job that has hired {self.hired} cannot have {positions} positions"
        changed = {
            EventType.POSITIONS_CHANGED.value: positions != before,
            EventType.DATES_CHANGED.value: dates != dates_before,
        }
        if status is not None and any(is_so != (event.event == e) for e, is_so in changed.items()):
            return "its own event changes the positions, or the dates, and nothing else does"
        if dates[0] != dates_before[0] and status not in (None, JobStatus.DRAFT):
            return "only a draft gets another opening date"
        if event.event in changed and event.actor_kind != ActorKind.COMPANY:
            return "only the company changes positions and dates"
        return self.system_status_fault(event) or self.filled_fault(event)

    def filled_fault(self, event: Event) -> str:
        """Name the fault of a closing for a hiring that did not fill the last position."""
        if FILLED_BY not in event.data:
            return ""
        is_last = event.event == EventType.JOB_CLOSED and self.is_filled
        if is_last and event.data[FILLED_BY] == self._last_hired == event.seq - 1:
            return ""
        return "it closes the job for a hiring that did not fill the last position"

    def system_status_fault(self, event: Event) -> str:
        """Name the fault of an opening or closing by the system at another time than announced."""
        announced = {
            EventType.JOB_OPENED.value: self.opens_at,
            EventType.JOB_CLOSED.value: self.closes_at,
        }
        if event.actor_kind != ActorKind.SYSTEM or event.event not in announced:
            return ""
        at = announced[event.event]
        if at is None or event.effective_at != at or event.at < at:
            return "the system opened or closed the job at another time than announced"
        return ""

    def check_application_event(self, event: Event, status: str) -> str:
        """Check that nobody joins a job after its closing, or is offered a seat once it is filled.

        `status`: the job's.
        """
        joins = event.from_status is None or event.event == EventType.PROMOTED
        is_over = self.closes_at is not None and event.at >= self.closes_at
        if joins and is_over and status != JobStatus.CLOSED:
            return "it comes after the announced closing of the job"
        gives_seat = joins and event.to_status is not None and Status(event.to_status).holds_seat
        if gives_seat and self.is_filled:
            return "it offers a seat although every position is filled"
        if event.event == EventType.REMOVED and event.outcome == Outcome.HIRED:
            if self.is_filled:
                return "it hires a person although every position is filled"
            self.hired, self._last_hired = self.hired + 1, event.seq
        return ""


# Fold of planned changes to a job's number of seats.


class FoldedSeatsChange(NamedTuple):
    """Change of a job's number of seats by a plan."""

    seq: int
    effective_at: datetime
    before: int
    after: int

    @property
    def is_cut(self) -> bool:
        """Tell whether the limits of a job's seats may have cut the change."""
        return self.after in (1, MAX_CAPACITY)


class PlannedSeatsFold:
    """Planned changes according to a log so far. Each check returns the fault, or nothing."""

    def __init__(self) -> None:
        # What each plan has changed, oldest first, and every number of seats that the job has had.
        self.changes: dict[UUID, list[FoldedSeatsChange]] = {}
        self.capacities: set[int] = set()
        # The changes that were skipped because of reserved seats: when, and of how many seats.
        self.skipped: dict[UUID, list[tuple[int, datetime, int]]] = {}
        self._latest: datetime | None = None

    def check_job_event(self, event: Event, before: int) -> str:
        """Check that the system changes seats as planned: when due, by each plan's number.

        `before`: the number of seats before the event.
        """
        after = event.data["capacity"]
        self.capacities.add(after)
        if event.event == EventType.SEATS_KEPT:
            return self._check_skipped(event, before)
        planned = PLANNED_SEATS in event.data
        by_system = (
            event.event == EventType.CAPACITY_CHANGED and event.actor_kind == ActorKind.SYSTEM
        )
        if planned != by_system:
            return "the system changes seats as planned, and nobody else does"
        if not planned:
            return ""
        in_order = self._is_in_order(event)
        done = self.changes.setdefault(UUID(event.data[PLANNED_SEATS]), [])
        done.append(FoldedSeatsChange(event.seq, event.effective_at, before, after))
        if not in_order or len(done) > MOST_TIMES:
            return "planned seats change in the order of their times, when due"
        whole = {each.after - each.before for each in done if not each.is_cut}
        cut = {each.after - each.before for each in done if each.is_cut}
        most = max([abs(each) for each in whole] or [MAX_CAPACITY])
        same_way = len({each > 0 for each in whole | cut}) == 1 and after != before
        if not same_way or len(whole) > 1 or any(abs(each) > most for each in cut):
            return "a plan changes the seats by one number, always the same"
        return ""

    def _is_in_order(self, event: Event) -> bool:
        """Tell whether a plan's event is due, and effective no earlier than those before it."""
        before, self._latest = self._latest, event.effective_at
        return (before or event.effective_at) <= event.effective_at <= event.at

    def _check_skipped(self, event: Event, before: int) -> str:
        """Check that a change was skipped when due, and would have closed reserved seats."""
        seats = event.data[PLANNED_CHANGE]
        after = max(before + seats, 1)
        skipped = self.skipped.setdefault(UUID(event.data[PLANNED_SEATS]), [])
        skipped.append((event.seq, event.effective_at, seats))
        if event.actor_kind != ActorKind.SYSTEM or not self._is_in_order(event):
            return "planned seats change in the order of their times, when due"
        if not after < before or after >= event.data.get(RESERVED_SEATS, 0):
            return "it skips a planned change that would have closed no reserved seats"
        if event.data["capacity"] != before:
            return "it changes the seats although it says that it changes nothing"
        return ""

    def check_application_event(self, event: Event) -> str:
        """Check that the plan that a promotion names has opened its seat."""
        if PLANNED_SEATS not in event.data:
            return ""
        changes = self.changes.get(UUID(event.data[PLANNED_SEATS]), ())
        if event.cause_seq not in [each.seq for each in changes]:
            return "its seat was not opened by the plan that it names"
        return ""


# Fold of a job's reserved seats.


class ReserveFold:
    """Reserved seats according to a log so far, and who has taken one. Each check names a fault.

    The log does not say who belongs to the group: only that something was decided about a person
    before they took a reserved seat, by a digest that the person's row opens.
    """

    def __init__(self) -> None:
        self.seats = 0
        self.group = ""
        self.until: datetime | None = None
        self.taken: set[UUID] = set()
        self.digests: dict[UUID, str] = {}

    def check_job_event(self, event: Event, *, is_new: bool) -> str:
        """Check that only a company reserves seats, and the system ends that when announced."""
        before = self.seats, self.group, self.until
        self.seats = event.data.get(RESERVED_SEATS, 0)
        self.group = event.data.get(RESERVED_FOR, "")
        self.until = parse_logged_time(event.data.get(RESERVED_UNTIL))
        after = self.seats, self.group, self.until
        if after != (0, "", None):
            GroupKind(self.group)
            if not 1 <= self.seats <= MAX_CAPACITY:
                return f"a job cannot reserve {self.seats} seats"
        if event.event != EventType.RESERVE_CHANGED:
            return "" if is_new or after == before else "another event changes the reserved seats"
        if event.actor_kind == ActorKind.COMPANY:
            return "" if after != before else "it changes nothing about the reserved seats"
        due = before[2]
        is_due = due is not None and event.effective_at == due and event.at >= due
        if event.actor_kind != ActorKind.SYSTEM or after != (0, "", None) or not is_due:
            return "the system ends the reserved seats at another time than announced"
        return ""

    def check_place(
        self, event: Event, place: PastPlace, before: PlaceState, held: int, capacity: int
    ) -> str:
        """Check who takes and leaves a reserved seat. `held`: seats that all others hold."""
        who, holds = place.application_id, place.status.holds_seat
        if event.event == EventType.GROUP_NOTED:
            self.digests[who] = event.data[CLAIM_DIGEST]
        was_seated = event.from_status is not None and Status(event.from_status).holds_seat
        takes = place.reserved_seat
        if was_seated and holds:
            return "" if takes == before.reserved_seat else "it changes which seat a person holds"
        self.taken.discard(who)
        if not holds:
            return "it leaves a reserved seat to a person without a seat" if takes else ""
        others = held - len(self.taken)
        if not takes:
            is_full = bool(self.seats) and others >= max(0, capacity - self.seats)
            return "it gives a reserved seat to a person outside the group" if is_full else ""
        self.taken.add(who)
        if len(self.taken) > self.seats or who not in self.digests:
            return "it gives a reserved seat that is not free, or to a person never confirmed"
        return ""
