"""Fold of a log, row by row, that refuses the first row that cannot follow the one before it.

It shares no rule with the code that writes the log. It knows the table of moves, the hash and the
form of a row; everything else comes from the rows.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

from jobs.policies import POLICY_FIELDS, Policy
from pipeline.domain.states import (
    EVENTS,
    JOB_MOVES,
    MOVES,
    OUTCOMES,
    UNVERIFIED,
    EventType,
    Status,
)
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.models import Event
from pipeline.selectors.past_states import PastPlace


class BadRow(Exception):
    """A log row was changed, removed, inserted or reordered. `seq` is the first such row's."""

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(what)
        self.seq = seq


# Every possible (status before, event, status after, outcome) of a log.
LEGAL = {
    (None if before is None else before.value, EVENTS[move].value, to.value, OUTCOMES.get(move))
    for (before, move), to in MOVES.items()
}

_COUNTED = {
    "active": Status.ACTIVE,
    "pending": Status.PENDING_ACKNOWLEDGMENT,
    "waiting": Status.WAITLIST,
}


class Fold:
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

    def take(self, event: Event) -> None:
        """Add the next row. Raises BadRow."""
        self._check_chain(event)
        try:
            if event.application_id is None:
                self._take_job(event)
            else:
                self._take_application(event, event.application_id)
            self.next_ticket = event.data["next_ticket"]
            counters = {name: self.counts[status] for name, status in _COUNTED.items()}
            counters["unverified"] = len(self.unverified)  # older rows do not hold it
            for name, counted in counters.items():
                said = event.data.get(name, None if name in _COUNTED else 0)
                if said != counted:
                    raise BadRow(event.seq, f"it says {said} {name}, the log adds up to {counted}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadRow(event.seq, f"its data cannot be read: {error!r}") from error

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
        Policy(**{name: event.data["policy"][name] for name in POLICY_FIELDS})
        if event.data["capacity"] < 1:
            raise BadRow(event.seq, "a job has at least one seat")
        self.job, self.policy_version = event.data, event.policy_version
        if event.event == EventType.JOB_OPENED:
            self.opened_at = event.at
        elif event.event == EventType.JOB_CLOSED:
            self.closed_at = event.at

    def _take_application(self, event: Event, application_id: UUID) -> None:
        place = self.places.get(application_id)
        before = place.status.value if place else None
        step = (before, event.event, event.to_status, event.outcome)
        if event.from_status != before or step not in LEGAL:
            raise BadRow(event.seq, f"{event.event} to {event.to_status} cannot follow {before}")
        after = Status(str(event.to_status))
        if place is None:
            place = self.places[application_id] = PastPlace(
                application_id, event.at, after, event.at
            )
        if event.from_status:
            self.counts[place.status] -= 1
        self.counts[after] += 1
        stood = (place.ticket, place.tie)
        place.status, place.outcome = after, event.outcome
        place.take(event.data)
        self._check_verification(event, place, stood)
        place.deadline_extended = event.event == EventType.DEADLINE_EXTENDED
        if place.deadline_extended or event.event == EventType.VERIFIED:
            return
        place.status_since = event.at
        if after is Status.PENDING_ACKNOWLEDGMENT:
            place.promoted_at = event.at
        elif event.event == EventType.ACKNOWLEDGED:
            place.acknowledged_at = event.at
        elif after is Status.INACTIVE:
            place.ended_at = event.at

    def _check_verification(
        self, event: Event, place: PastPlace, stood: tuple[int | None, int | None]
    ) -> None:
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
