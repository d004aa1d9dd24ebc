"""Pages of rows, and the cursors between them."""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

LARGEST = 2**63 - 1  # the largest possible seq or ticket

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def encode_cursor(*parts: int | str | UUID | datetime) -> str:
    """Return the cursor of the page that starts after a row with these values."""
    plain: list[int | str] = []
    for part in parts:
        text = part.isoformat() if isinstance(part, datetime) else str(part)
        plain.append(part if isinstance(part, int) else text)
    return _encode_cursor_parts(plain)


def extend_cursor(cursor: str, text: str) -> str:
    """Return one of our cursors with a text behind its other values."""
    return _encode_cursor_parts(
        [*json.loads(urlsafe_b64decode(cursor.encode("ascii") + b"==")), text]
    )


def _encode_cursor_parts(parts: list[int | str]) -> str:
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(text: str, *kinds: type) -> tuple[Any, ...] | None:
    """Return the values in a cursor, or None if they are not of the given kinds, in order.

    A kind is int (at most LARGEST, on either side of 0), str (without NUL), UUID (as this product
    writes it) or datetime (with an offset; returned in UTC).
    """
    try:
        parts = json.loads(urlsafe_b64decode(text.encode("ascii") + b"=="))
        if not isinstance(parts, list) or len(parts) != len(kinds):
            return None
        return tuple(
            _typed_cursor_part(part, kind) for part, kind in zip(parts, kinds, strict=True)
        )
    except (ValueError, OverflowError, binascii.Error, RecursionError):
        return None


def _typed_cursor_part(part: Any, kind: type) -> Any:
    """Return a part of a cursor as a value of its kind. Raises ValueError."""
    if kind is int and isinstance(part, int) and not isinstance(part, bool):
        if abs(part) <= LARGEST:
            return part
    elif isinstance(part, str) and "\0" not in part:
        if kind is str:
            return part
        if kind is UUID and _UUID.fullmatch(part):
            return UUID(part)
        if kind is datetime and (moment := datetime.fromisoformat(part)).tzinfo:
            return moment.astimezone(UTC)
    raise ValueError("not a part of this kind")


# Page of rows of any kind, which also says whether there are more.


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
