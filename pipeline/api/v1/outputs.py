"""Types shared by the responses of several resources. An absent value is None, never missing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypedDict, TypeVar
from uuid import UUID

from pipeline.domain.states import ActorKind
from pipeline.models import Application, ApplicationRow
from pipeline.selectors.past import PastPlace

Row = TypeVar("Row")
# A non-negative whole number.
Count = Annotated[int, ("minimum", 0)]
# A SHA-256 in hexadecimal.
Hash = Annotated[str, ("pattern", "^[0-9a-f]{64}$")]


class PageOf(TypedDict, Generic[Row]):
    """A page of a list."""

    data: list[Row]
    next_cursor: str | None


class ActorRef(TypedDict):
    """The actor of an event. The system has no id."""

    kind: Annotated[str, ActorKind]
    id: UUID | None


class StandingOut(TypedDict):
    """Standing of an application: its deadline, what holds it back, wishes, and when it moved."""

    acknowledge_by: datetime | None
    eligible_at: datetime | None
    not_before: datetime | None
    accept_until: datetime | None
    pass_next: bool
    passes_used: Count
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None


def standing_out(place: Application | ApplicationRow | PastPlace, now: datetime) -> StandingOut:
    """Return an application's standing at a time."""
    return {
        "acknowledge_by": place.acknowledge_by,
        "eligible_at": moment_if_ahead(place.eligible_at, now),
        "not_before": moment_if_ahead(place.not_before, now),
        "accept_until": moment_if_ahead(place.accept_until, now),
        "pass_next": place.pass_next,
        "passes_used": place.passes_used,
        "applied_at": place.applied_at,
        "promoted_at": place.promoted_at,
        "acknowledged_at": place.acknowledged_at,
    }


class DetailOut(TypedDict):
    """A response that says only that the request was accepted."""

    detail: str


def moment_if_ahead(moment: datetime | None, now: datetime) -> datetime | None:
    """Return a time, or None once it has passed."""
    return moment if moment is not None and moment > now else None
