"""Pagination with cursors that name the row before the next page, not a number of rows to skip."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from rest_framework.request import Request

from pipeline.api.parameters import integer_parameter, refuse_parameter
from pipeline.selectors.cursors import decode_cursor, extend_cursor
from pipeline.selectors.page import Page

DEFAULT_LIMIT, MOST = 50, 200

# Parameters that change neither a list's rows nor their order, and those for its beginning, which
# a cursor replaces.
_FREE = frozenset("limit cursor fields expand after start after_seq seq as_of asOf".split())
_DIGEST_BYTES = 6

T = TypeVar("T")


def page_limit(request: Request) -> int:
    """Return the page size that the client requests."""
    return integer_parameter(request, "limit", low=1, high=MOST) or DEFAULT_LIMIT


def page_cursor_place(request: Request, *kinds: type) -> tuple[Any, ...] | None:
    """Return the values of the row after which a page starts, or None for the first page.

    The kinds are those of `decode_cursor`. A cursor without a digest works too: it is old, or
    belongs to the first page in an answer about the whole line. Raises ValidationError.
    """
    text = request.query_params.get("cursor")
    if text is None:
        return None
    if bound := decode_cursor(text, *kinds, str):
        if bound[-1] != _digest_of_paged_list(request):
            refuse_parameter(
                "cursor",
                "This cursor belongs to another list, or to other filters or another order. Send"
                " the parameters of the first page with it, or begin without a cursor.",
            )
        return bound[:-1]
    place = decode_cursor(text, *kinds)
    return place or refuse_parameter("cursor", "This cursor does not belong to this list.")


def page_cursor_seq(request: Request) -> int:
    """Return the seq after which a page starts: from the cursor, else `after_seq`, else 0."""
    given = integer_parameter(request, "after_seq", low=0) or 0
    place = page_cursor_place(request, int)
    return place[0] if place else given


def page_cursor_number(request: Request) -> int | None:
    """Return the number after which a page starts, or None for the first page."""
    place = page_cursor_place(request, int)
    return place[0] if place else None


def page_cursor_id(request: Request) -> UUID | None:
    """Return the id after which a page starts, or None for the first page."""
    place = page_cursor_place(request, UUID)
    return place[0] if place else None


def paginated(
    page: Page[T], shape: Callable[[T], Any], after: Callable[[T], str]
) -> dict[str, Any]:
    """Return a page as clients see it. `after` returns the cursor after a row."""
    return {
        "data": [shape(row) for row in page.rows],
        "next_cursor": after(page.rows[-1]) if page.more else None,
    }


def page_bound_to_list(request: Request, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page whose cursor is valid only for this list: its path, filters and order."""
    cursor = payload["next_cursor"]
    if cursor is None:
        return payload
    return {**payload, "next_cursor": extend_cursor(cursor, _digest_of_paged_list(request))}


def _digest_of_paged_list(request: Request) -> str:
    """Return a short digest of a list's path and the parameters that choose its rows.

    It is not secret: it catches mistakes, and a cursor gives no access. Unknown parameters do not
    count; of a repeated parameter, only the last counts, as everywhere.
    """
    operation = request.parser_context["view"].operation
    known = {each.name for each in operation.parameters} - _FREE
    chosen = sorted(
        (name, value)
        for name, value in request.query_params.items()
        if name.partition("[")[0] in known
    )
    whole = f"{request.path}?{urlencode(chosen)}".encode()
    return urlsafe_b64encode(sha256(whole).digest()[:_DIGEST_BYTES]).decode()


def link_to_next_page(
    request: Request, next_cursor: str | None, *, instead_of: str = ""
) -> dict[str, str]:
    """Return the Link header to the next page: this request's address with another cursor.

    It is relative, so a client that follows it keeps its scheme and host and never sends a key in
    the clear. `instead_of`: an old name of the cursor, which the link leaves out.
    """
    if next_cursor is None:
        return {}
    query = request.query_params.copy()
    query.pop(instead_of, None)
    query["cursor"] = next_cursor
    return {"Link": f'<{request.path}?{query.urlencode()}>; rel="next"'}
