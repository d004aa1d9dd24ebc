"""Fold of a log, row by row, that refuses the first row that cannot follow the one before it.

It shares no rule with the code that writes the log. It knows the table of moves, the hash and the
form of a row; everything else comes from the rows.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

from jobs.policies import Policy, logged_policy_values
from pipeline.audit.job_rules import DrawFold, PlannedSeatsFold, PositionsFold, ReserveFold
from pipeline.audit.rules import (
    AcceptedWishesFold,
    ContestsFold,
    ExceptionsFold,
    ExtensionsFold,
    LostPlacesFold,
    Place,
    pass_fault,
    wish_fault,
)
from pipeline.domain.contests import CONTESTABLE, OF_CONTESTS
from pipeline.domain.place import PlaceState
from pipeline.domain.states import (
    JOB_MOVES,
    RESERVED_TAKEN,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Status,
)
from pipeline.domain.verbs import EVENTS, KEEPING_STATUS, MOVES, OUTCOMES, WISHED
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.models import Event
from pipeline.selectors.past import PastPlace


class BadRow(Exception):
    """A log row was changed, removed, inserted or reordered. `seq` is the first such row's."""

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(what)
        self.seq = seq


# Every possible (status before, event, status after, outcome) of a log.
LEGAL = {
    (None if before is None else before.value, EVENTS[move].value, to.value, OUTCOMES.get(move))
    for (before, move), to in MOVES.items()
} | {
    (Status.INACTIVE.value, event.value, Status.INACTIVE.value, outcome.value)
    for event in OF_CONTESTS
    for outcome in CONTESTABLE
}

# What an applicant can do on a company's own site, through one of its keys.
_THROUGH_KEYS = frozenset(
    ("ACKNOWLEDGED", "ANSWERS_CHANGED", "CONTESTED", "PASSED", "WITHDRAWN", *WISHED)
)

# People who come into the line by these stand behind everyone in it.
_JOINING = frozenset((EventType.APPLIED.value, EventType.DECAYED.value, EventType.PLACED.value))

_COUNTED = {
    "active": Status.ACTIVE,
    "pending": Status.PENDING_ACKNOWLEDGMENT,
    "waiting": Status.WAITLIST,
}


class LogFold:
    """State of a line after the rows taken so far."""

    def __init__(self, job_id: UUID) -> None:
        self.job_id = job_id
        self.seq = 0
        self.head = GENESIS
        self.at: datetime | None = None
        self.job: dict[str, Any] = {}
        self.policy_version = 0
        self.next_ticket = 0
        self.opened_at: datetime | None = None
        self.closed_at: datetime | None = None
        self.places: dict[UUID, PastPlace] = {}
        self.counts: Counter[str] = Counter()
        self.unverified: set[UUID] = set()
        self.planned = PlannedSeatsFold()
        self.positions = PositionsFold()
        self.reserve = ReserveFold()
        self.draw = DrawFold(job_id)
        self.contests = ContestsFold()
        self.accepted = AcceptedWishesFold()
        self.extensions = ExtensionsFold()
        self.exceptions = ExceptionsFold()
        self.lost_places = LostPlacesFold()

    def refuse_unfinished(self) -> None:
        """Raise BadRow if another row of the same change has to follow the last one."""
        if self.contests.is_unfinished:
            raise BadRow(self.seq + 1, "the log ends before an answer has given a place back")
        if self.draw.is_unfinished:
            raise BadRow(self.seq + 1, "the log ends before everyone has been placed by the draw")
        if self.accepted.is_unfinished:
            raise BadRow(
                self.seq + 1, "the log ends before a seat accepted in advance is confirmed"
            )

    def fold_event(self, event: Event) -> None:
        """Add the next row. Raises BadRow."""
        self._check_chain(event)
        try:
            if wrong := self.accepted.row_fault(event):
                raise BadRow(event.seq, wrong)
            if event.application_id is None:
                self._take_job(event)
                self._check_contest(event, None)
            else:
                joins = event.event in _JOINING and event.to_status == Status.WAITLIST
                if joins and (ticket := event.data["ticket"]) < self.next_ticket:
                    raise BadRow(event.seq, f"its ticket {ticket} is not at the line's end")
                self._take_application(event, event.application_id)
            self.next_ticket = event.data["next_ticket"]
            counters = self._counters(event)
            for name, counted in counters.items():
                said = event.data.get(name, None if name in _COUNTED else 0)
                if said != counted:
                    raise BadRow(event.seq, f"it says {said} {name}, the log adds up to {counted}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadRow(event.seq, f"its data cannot be read: {error!r}") from error

    def _counters(self, event: Event) -> dict[str, int]:
        """Return the counters that a row must hold, by their names in its data."""
        counters = {name: self.counts[status] for name, status in _COUNTED.items()}
        counters["unverified"] = len(self.unverified)  # older rows do not hold it
        if self.positions.to_fill is not None:
            counters["hired"] = self.positions.hired
        if self.reserve.seats or self.reserve.taken or RESERVED_TAKEN in event.data:
            counters[RESERVED_TAKEN] = len(self.reserve.taken)
        return counters

    def _check_chain(self, event: Event) -> None:
        if event.seq != self.seq + 1:
            raise BadRow(self.seq + 1, f"the row is missing; the next one is {event.seq}")
        if bytes(event.prev_hash) != self.head:
            raise BadRow(event.seq, "it does not chain to the row before it")
        if bytes(event.hash) != chained_hash(self.head, event):
            raise BadRow(event.seq, "its hash does not match its content")
        if self.at is not None and event.at < self.at:
            raise BadRow(event.seq, "it was recorded before the row before it")
        self.seq, self.head, self.at = event.seq, bytes(event.hash), event.at

    def _take_job(self, event: Event) -> None:
        if (event.seq == 1) != (event.event == EventType.JOB_CREATED):
            raise BadRow(event.seq, "JOB_CREATED must be the first event, and only the first")
        # The status follows the table or stays. The policy is in range.
        before, after = self.job.get("status"), event.data["status"]
        move = JOB_MOVES.get((before, after))
        said = (event.from_status, event.to_status)
        if move != event.event and (after != before or event.event in JOB_MOVES.values()):
            raise BadRow(event.seq, f"{event.event} to {after} cannot follow {before}")
        if said != ((before, after) if move == event.event else (None, None)):
            raise BadRow(event.seq, f"it says {said[0]} to {said[1]}, it is {before} to {after}")
        Policy(**logged_policy_values(event.data["policy"]))
        if event.data["capacity"] < 1:
            raise BadRow(event.seq, "a job has at least one seat")
        wrong = self.planned.check_job_event(event, self.job.get("capacity", 0))
        wrong = wrong or self.positions.check_job_event(event, before)
        wrong = wrong or self.reserve.check_job_event(event, is_new=before is None)
        self._check_clock(event)
        drawn = self.places.values() if event.event == EventType.DRAWN else ()
        waiting = [each.application_id for each in drawn if each.status is Status.WAITLIST]
        is_open = self.opened_at is not None
        if wrong := wrong or self.draw.check_job_event(event, waiting, is_open=is_open):
            raise BadRow(event.seq, wrong)
        self.job, self.policy_version = event.data, event.policy_version
        if event.event == EventType.JOB_OPENED:
            self.opened_at = event.at
        elif event.event == EventType.JOB_CLOSED:
            self.closed_at = event.at

    def _check_clock(self, event: Event) -> None:
        """Check that only a sandbox has its own clock, and that only an advance moves it."""
        before, after = (data.get("clock_offset_seconds") for data in (self.job, event.data))
        if self.job and (before is None) != (after is None):
            raise BadRow(event.seq, "a job became one of a sandbox, or was one")
        moved = event.data["seconds"] if event.event == EventType.CLOCK_ADVANCED else 0
        if event.event == EventType.CLOCK_ADVANCED and (before is None or moved < 1):
            raise BadRow(event.seq, "only the clock of a sandbox moves, and only forward")
        if after is not None and (after < 0 or (self.job and after - before != moved)):
            raise BadRow(event.seq, f"its clock is {after} s ahead, the log adds up to another")

    def _take_application(self, event: Event, application_id: UUID) -> None:
        place = self.places.get(application_id)
        before = place.status.value if place else None
        step = (before, event.event, event.to_status, event.outcome)
        if event.from_status != before or step not in LEGAL:
            raise BadRow(event.seq, f"{event.event} to {event.to_status} cannot follow {before}")
        after = Status(str(event.to_status))
        self._check_origin(event)
        if place is None:
            place = self.places[application_id] = PastPlace(
                application_id=application_id,
                applied_at=event.at,
                status=after,
                status_since=event.at,
            )
        self.counts[place.status] -= event.from_status is not None
        self.counts[after] += 1
        stood, misses = (place.ticket, place.tie), place.decay_count
        held = PlaceState.of(place)
        place.status, place.outcome = after, event.outcome
        place.set_past_state(event.data)
        self._check_verification(event, place, stood)
        self._check_wishes(event, place, held)
        self._check_contest(event, place)
        if wrong := self.lost_places.check(event, place, stood, misses, self.job["policy"]):
            raise BadRow(event.seq, wrong)
        place.deadline_extended = event.event == EventType.DEADLINE_EXTENDED
        if event.event in KEEPING_STATUS:
            return
        place.status_since, place.ended_at = event.at, None
        if after is Status.PENDING_ACKNOWLEDGMENT:
            place.promoted_at = event.at
        elif event.event == EventType.ACKNOWLEDGED:
            place.acknowledged_at = event.at
        elif after is Status.INACTIVE:
            place.ended_at = event.at

    def _check_origin(self, event: Event) -> None:
        """Check that only an applicant acts through a key, and only as a portal can.

        Also check the draw by lot, that the plan that a promotion names has opened its seat, and
        the positions to fill.
        """
        wrong = self.draw.check_application_event(event, self.next_ticket)
        wrong = wrong or self.planned.check_application_event(event)
        if wrong := wrong or self.positions.check_application_event(event, self.job["status"]):
            raise BadRow(event.seq, wrong)
        if VIA_KEY not in event.data:
            return
        key = UUID(event.data[VIA_KEY])
        if event.actor_kind != ActorKind.APPLICANT or event.event not in _THROUGH_KEYS:
            raise BadRow(event.seq, f"nobody does {event.event} through the key {key}")

    def _check_wishes(self, event: Event, place: PastPlace, before: PlaceState) -> None:
        seated = (Status.ACTIVE, Status.PENDING_ACKNOWLEDGMENT)
        others = sum(self.counts[each] for each in seated) - place.status.holds_seat
        wrong = self.reserve.check_place(event, place, before, others, self.job["capacity"])
        wrong = (
            wrong
            or wish_fault(event, place, before)
            or self.accepted.promotion_fault(event, before)
        )
        wrong = wrong or pass_fault(event, place, before, self.job["policy"])
        everyone = self.places.values()
        wrong = wrong or self.exceptions.fault(event, place, before, everyone, self.next_ticket)
        if wrong := wrong or self.extensions.fault(event, place, before):
            raise BadRow(event.seq, wrong)

    def _check_contest(self, event: Event, place: PastPlace | None) -> None:
        if wrong := self.contests.check(event, place):
            raise BadRow(event.seq, wrong)

    def _check_verification(self, event: Event, place: PastPlace, stood: Place) -> None:
        """Check that nobody unverified holds a seat, and that verification moves nobody in line."""
        was_unverified = place.application_id in self.unverified
        is_unverified = place.verify_by is not None
        self.unverified.discard(place.application_id)
        if is_unverified and place.status is Status.WAITLIST:
            self.unverified.add(place.application_id)
        if is_unverified and place.status.holds_seat:
            raise BadRow(event.seq, "an unverified application holds a seat")
        if event.event == EventType.VERIFIED:
            if not was_unverified or is_unverified or stood != (place.ticket, place.tie):
                raise BadRow(event.seq, "it verifies a verified place, or changes the place")
        elif event.from_status and was_unverified != is_unverified:
            raise BadRow(
                event.seq, f"{event.event} must not change whether an application is verified"
            )
        lapsed_unverified = event.data.get("reason") == UNVERIFIED
        if event.event == EventType.LAPSED and lapsed_unverified != was_unverified:
            raise BadRow(event.seq, "its reason is not that of the application")
