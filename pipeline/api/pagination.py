"""Pagination with cursors that name the row before the next page, not a number of rows to skip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from rest_framework.request import Request

from pipeline.api.parameters import refuse_parameter, whole_parameter
from pipeline.selectors.cursors import decode_cursor
from pipeline.selectors.page import Page

DEFAULT_LIMIT, MOST = 50, 200

T = TypeVar("T")


def page_limit(request: Request) -> int:
    """Return the page size that the client requests."""
    return whole_parameter(request, "limit", low=1, high=MOST) or DEFAULT_LIMIT


def cursor_place(request: Request, *kinds: type) -> tuple[Any, ...] | None:
    """Return the values of the row after which a page starts, or None for the first page.

    The kinds are those of `decode_cursor`. Raises ValidationError.
    """
    text = request.query_params.get("cursor")
    if text is None:
        return None
    place = decode_cursor(text, *kinds)
    return place or refuse_parameter("cursor", "This cursor does not belong to this list.")


def cursor_seq(request: Request) -> int:
    """Return the seq after which a page starts: from the cursor, else `after_seq`, else 0."""
    given = whole_parameter(request, "after_seq", low=0) or 0
    place = cursor_place(request, int)
    return place[0] if place else given


def cursor_number(request: Request) -> int | None:
    """Return the number after which a page starts, or None for the first page."""
    place = cursor_place(request, int)
    return place[0] if place else None


def cursor_id(request: Request) -> UUID | None:
    """Return the id after which a page starts, or None for the first page."""
    place = cursor_place(request, UUID)
    return place[0] if place else None


def paginated(
    page: Page[T], shape: Callable[[T], Any], after: Callable[[T], str]
) -> dict[str, Any]:
    """Return a page as clients see it. `after` returns the cursor after a row."""
    return {
        "data": [shape(row) for row in page.rows],
        "next_cursor": after(page.rows[-1]) if page.more else None,
    }


def link_to_next_page(
    request: Request, next_cursor: str | None, *, parameter: str = "cursor"
) -> dict[str, str]:
    """Return the Link header to the next page: this request's address with another cursor.

    It is relative, so a client that follows it keeps its scheme and host and never sends a key in
    the clear.
    """
    if next_cursor is None:
        return {}
    query = request.query_params.copy()
    query[parameter] = next_cursor
    return {"Link": f'<{request.path}?{query.urlencode()}>; rel="next"'}
