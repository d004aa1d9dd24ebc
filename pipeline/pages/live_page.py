"""Pages that keep themselves up to date: the page, and the fragment of it that is fetched again.

The fragment carries a tag that changes whenever it does; who has it already gets 304, for which
nothing is built. Many people who look at the same thing share what was built, for some seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.translation import get_language

from pipeline.live import stream_tokens
from pipeline.pages.access import current_applicant, current_member

SHARED_SECONDS = 5
"""How long a fragment is kept for others; for no longer do its relative times lag behind."""

PARAMETER = "fragment"
STREAM_HEADER = "X-Live-Stream"
_TOKEN = "csrf-token-of-who-asks"  # noqa: S105  what stands for it in a kept fragment


def live_page(
    request: HttpRequest,
    page: str,
    fragment: str,
    *,
    build: Callable[[], dict[str, Any]],
    tag: str,
    jobs: Iterable[UUID] = (),
) -> HttpResponse:
    """Answer with a page, or with `?fragment=1` only with the part of it that changes.

    `build` gives the context of both templates. `tag` says in which state everything is that the
    fragment shows: the same tag, the same fragment, and 304 for who has it. The browser looks again
    when one of the `jobs` changes, and now and then anyway. A fragment may depend on the address,
    the applicant, and the member's company and role, but not on which member looks.
    """
    wants_fragment = _take_parameter(request)
    etag = _etag(request, fragment, tag)
    stream = _stream(jobs)
    if not wants_fragment:
        live = {"tag": etag, "stream": stream, "url": _fragment_url(request)}
        response = render(request, page, build() | {"live": live})
    elif request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
    else:
        response = HttpResponse(_fragment(request, fragment, build, etag))
    if wants_fragment:
        response["ETag"], response[STREAM_HEADER] = etag, stream
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _stream(jobs: Iterable[UUID]) -> str:
    """Where the changes of these jobs are told; nowhere if there are none."""
    followed = list(jobs)
    return f"/live/{stream_tokens.issue(followed)}" if followed else ""


def _take_parameter(request: HttpRequest) -> bool:
    """Whether only the fragment is wanted; the addresses that are built in it do not show that."""
    query = request.GET.copy()
    wanted = query.pop(PARAMETER, []) == ["1"]
    if wanted:
        request.META["QUERY_STRING"] = query.urlencode()
        request.GET = query  # type: ignore[assignment]  # a copy that can be changed
    return wanted


def _fragment_url(request: HttpRequest) -> str:
    query = request.GET.copy()
    query[PARAMETER] = "1"
    return f"{request.path}?{query.urlencode()}"


def _etag(request: HttpRequest, fragment: str, tag: str) -> str:
    """Of the tag, and of everything else on which the bytes of the fragment depend."""
    zone, language = timezone.get_current_timezone_name(), get_language()
    parts = [fragment, tag, request.get_full_path(), zone, language, *_viewer(request)]
    digest = blake2b("\n".join(map(str, parts)).encode(), digest_size=12).hexdigest()
    return f'W/"{digest}"'


def _viewer(request: HttpRequest) -> list[object]:
    person, member = current_applicant(request), current_member(request)
    return [person and person.id, member and member.company.id, member and member.role]


def _fragment(
    request: HttpRequest, template: str, build: Callable[[], dict[str, Any]], etag: str
) -> str:
    html = caches["local"].get(f"fragment:{etag}")
    if html is None:
        html = render_to_string(template, build() | {"csrf_token": _TOKEN}, request)
        caches["local"].set(f"fragment:{etag}", html, SHARED_SECONDS)
    return html.replace(_TOKEN, get_token(request)) if _TOKEN in html else html
