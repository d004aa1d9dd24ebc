"""State of a simulation: its people, the resulting events, and the changed rules. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.domain.states import EventType, Status

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
