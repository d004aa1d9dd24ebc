"""Types shared by the responses of several resources. An absent value is None, never missing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypedDict, TypeVar
from uuid import UUID

from pipeline.domain.states import ActorKind

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


class DetailOut(TypedDict):
    """A response that says only that the request was accepted."""

    detail: str


def output_if_ahead(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment is not None and moment > now else None
