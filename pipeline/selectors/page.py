"""Page of rows of any kind, which also says whether there are more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list, in order. `more` says whether other rows follow."""

    rows: list[T]
    more: bool

    @classmethod
    def cut(cls, rows: list[T], limit: int) -> Page[T]:
        """Make a page of at most `limit` rows from a read of up to `limit` + 1 rows."""
        return cls(rows[:limit], len(rows) > limit)
