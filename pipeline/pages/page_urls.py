"""Places in lists, as in the URLs of pages. An invalid place means the first page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from pipeline.selectors.pages import decode_cursor

MOST_SEQ = 2**63 - 1
LONGEST_TARGET = 1_000  # characters, of a page to go to afterwards


def read_id(request: HttpRequest, name: str) -> UUID | None:
    """Return the id in the URL, or None."""
    try:
        return UUID(request.GET.get(name, ""))
    except ValueError:
        return None


def read_seq(request: HttpRequest, name: str) -> int | None:
    """Return the seq of an event in the URL, or None."""
    text = request.GET.get(name, "").strip()
    if text.isascii() and text.isdigit() and len(text) < 100:
        return min(int(text), MOST_SEQ)
    return None


def read_place(request: HttpRequest, name: str, *kinds: type) -> tuple[Any, ...] | None:
    """Return the values of the cursor in the URL, or None (see `decode_cursor`)."""
    return decode_cursor(request.GET.get(name, ""), *kinds)


def change_query(request: HttpRequest, **changes: Any) -> str:
    """Return this page's URL with a changed query. None removes a parameter."""
    query: dict[str, Any] = {n: v for n, v in request.GET.items() if n not in changes}
    query |= {name: value for name, value in changes.items() if value is not None}
    return f"{request.path}?{urlencode(query)}" if query else request.path


def safe_target(request: HttpRequest, target: str) -> str:
    """Return the target if it is a path on this site; else an empty string."""
    if not target.startswith("/") or len(target) > LONGEST_TARGET:
        return ""
    hosts, secure = {request.get_host()}, request.is_secure()
    is_safe = url_has_allowed_host_and_scheme(target, allowed_hosts=hosts, require_https=secure)
    return target if is_safe else ""
