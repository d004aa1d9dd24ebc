"""One application in the plain model of a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID


@dataclass
class Standing:
    """One application."""

    id: UUID
    person: UUID
    applied_at: datetime
    status: str | None = None
    outcome: str | None = None
    misses: int = 0
    ticket: int | None = None
    tie: int | None = None
    to_be_passed_by: int = 0
    eligible_at: datetime | None = None
    not_before: datetime | None = None
    accept_until: datetime | None = None
    passes: int = 0
    pass_next: bool = False
    passed_at: datetime | None = None
    verify_by: datetime | None = None
    deadline: datetime | None = None
    extended: bool = False
    extended_by: dict[str, int] = field(default_factory=dict)
    promoted_at: datetime | None = None
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None
    since: datetime | None = None
    last_event: str = ""
    before_offer: tuple[int, int] = (0, 0)
    miss: int | None = None
    miss_place: tuple[int, int] = (0, 0)
    given_back: bool = False
    end: int | None = None
    end_place: tuple[int, int] = (0, 0)
    contested: int | None = None
    asks: bool = False
    passed_by_exception: int = 0
    claim: bool | None = None
    member: bool = False
    reserved: bool = False
