"""Lists in pages: cursors that say where the next one starts, and never how many rows to skip."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from rest_framework.request import Request

from pipeline.api import parameters
from pipeline.api.parameters import LARGEST, refuse
from pipeline.selectors.paging import Page

DEFAULT_LIMIT, MOST = 50, 200

T = TypeVar("T")


def limit_of(request: Request) -> int:
    """Return the page size that the client asks for."""
    return parameters.whole(request, "limit", low=1, high=MOST) or DEFAULT_LIMIT


def place_after(request: Request) -> tuple[int, int] | None:
    """Return the (ticket, tie) after which a page starts, or None for the first page."""
    parts = parts_after(request)
    if parts is None:
        return None
    if len(parts) != 2 or not all(is_number(part) for part in parts):
        refuse_cursor()
    return parts[0], parts[1]


def seq_after(request: Request) -> int:
    """Return the seq after which a page starts: of the cursor, else `after_seq`, else 0."""
    given = parameters.whole(request, "after_seq", low=0) or 0
    parts = parts_after(request)
    if parts is None:
        return given
    if len(parts) != 1 or not is_number(parts[0]):
        refuse_cursor()
    return int(parts[0])


def number_after(request: Request) -> int | None:
    """Return the number after which a page starts, or None for the first page."""
    parts = parts_after(request)
    if parts is None:
        return None
    return int(parts[0]) if len(parts) == 1 and is_number(parts[0]) else refuse_cursor()


def id_after(request: Request) -> UUID | None:
    """Return the id after which a page starts, or None for the first page."""
    parts = parts_after(request)
    if parts is None:
        return None
    found = parameters.as_id(parts[0]) if len(parts) == 1 and isinstance(parts[0], str) else None
    return found or refuse_cursor()


def cursor(*parts: int | str) -> str:
    """Return the cursor of the page that starts after a row with these values."""
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def parts_of(text: str) -> list[Any] | None:
    """Return the values that a cursor was made of; None if it is no cursor."""
    try:
        parts = json.loads(urlsafe_b64decode(text.encode("ascii") + b"=="))
    except (ValueError, binascii.Error, RecursionError):
        return None
    return parts if isinstance(parts, list) and parts else None


def listing(page: Page[T], shape: Callable[[T], Any], after: Callable[[T], str]) -> dict[str, Any]:
    """Return a page as clients see it; `after` gives the cursor behind a row."""
    return {
        "data": [shape(row) for row in page.rows],
        "next_cursor": after(page.rows[-1]) if page.more else None,
    }


def link_to_next(
    request: Request, next_cursor: str | None, *, parameter: str = "cursor"
) -> dict[str, str]:
    """Return the Link header to the next page: this request's address with another cursor."""
    if next_cursor is None:
        return {}
    query = request.query_params.copy()
    query[parameter] = next_cursor
    address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    return {"Link": f'<{address}>; rel="next"'}


def parts_after(request: Request) -> list[Any] | None:
    """Return the values of the row after which a page starts, or None for the first page."""
    text = request.query_params.get("cursor")
    return None if text is None else parts_of(text) or refuse_cursor()


def is_number(part: Any) -> bool:
    """Return whether a part of a cursor is a number that we could have put there."""
    return isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= LARGEST


def refuse_cursor() -> NoReturn:
    """Refuse the request's cursor. Raises ValidationError."""
    refuse("cursor", "This is no cursor that this list gave.")
