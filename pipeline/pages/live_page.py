"""Pages that keep themselves up to date by fetching a fragment again.

A fragment's tag changes whenever its content does. A browser that already has it gets 304, and
nothing is built. People who look at the same page share a built fragment for a few seconds.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid4

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.translation import get_language

from pipeline.live import stream_tokens
from pipeline.live.streams import TIME_HEADER
from pipeline.pages.access import current_applicant, current_member, is_guarded_for_members
from pipeline.templatetags.live import SUBMISSION

SHARED_SECONDS = 5  # how long a fragment is cached; its relative times lag at most this much

PARAMETER = "fragment"
STREAM_HEADER = "X-Live-Stream"
# These stand for the tokens of forms in a cached fragment, and for the id of what a form makes.
_TOKEN, _SUBMISSION = "csrf-token-placeholder", "submission-id-placeholder"
FRESH_ID, _FRESH_ID = "fresh_id", "fresh-id-placeholder"


def live_page(
    request: HttpRequest,
    page: str,
    fragment: str,
    *,
    build: Callable[[], dict[str, Any]],
    tag: str,
    jobs: Iterable[UUID] = (),
) -> HttpResponse:
    """Return a page, or for `?fragment=1` only the part that changes.

    `build` returns the context of both templates. `tag` identifies the state of everything that the
    fragment shows: while it stays the same, the response is 304. The browser fetches the fragment
    again when one of the `jobs` changes, and occasionally anyway. A fragment may depend on the URL,
    the applicant, and the member's company and roles, but not on the individual member.
    """
    query = request.GET.copy()
    wants_fragment = query.pop(PARAMETER, []) == ["1"]
    if wants_fragment:  # URLs built in the fragment must not hold the parameter
        request.META["QUERY_STRING"] = query.urlencode()
        request.GET = query  # type: ignore[assignment]  # a mutable copy
    etag = _etag(request, fragment, tag)
    followed = list(jobs)
    person, member = current_applicant(request), current_member(request)
    session_key = request.session.session_key if person or member else None  # None: public
    reader = member.user.id if member and is_guarded_for_members(request) else None
    stream = f"/live/{stream_tokens.issue(followed, session_key, reader)}" if followed else ""
    if not wants_fragment:
        query = request.GET.copy()
        query[PARAMETER] = "1"
        live = {"tag": etag, "stream": stream, "url": f"{request.path}?{query.urlencode()}"}
        response = render(request, page, build() | {"live": live, FRESH_ID: uuid4()})
    elif request.headers.get("If-None-Match", "").startswith(etag[:-1]):  # Apache adds "-gzip"
        response = HttpResponseNotModified()
    else:
        html = caches["local"].get(f"fragment:{etag}")
        if html is None:
            tokens = {"csrf_token": _TOKEN, SUBMISSION: _SUBMISSION, FRESH_ID: _FRESH_ID}
            html = render_to_string(fragment, build() | tokens, request)
            caches["local"].set(f"fragment:{etag}", html, SHARED_SECONDS)
        if _TOKEN in html:
            html = html.replace(_SUBMISSION, secrets.token_urlsafe(12))
            html = html.replace(_FRESH_ID, str(uuid4()))
            html = html.replace(_TOKEN, get_token(request))
        response = HttpResponse(html)
    if wants_fragment:
        response["ETag"], response[STREAM_HEADER] = etag, stream
        response[TIME_HEADER] = timezone.now().isoformat()  # also of 304: it corrects countdowns
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _etag(request: HttpRequest, fragment: str, tag: str) -> str:
    """Hash the tag and everything else on which the bytes of the fragment depend."""
    zone, language = timezone.get_current_timezone_name(), get_language()
    person, member = current_applicant(request), current_member(request)
    viewer: list[object] = [person and person.id]
    if member:
        viewer += [member.company.id, member.role, sorted(member.jobs.items())]
    parts = [fragment, tag, request.get_full_path(), zone, language, *viewer]
    digest = blake2b("\n".join(map(str, parts)).encode(), digest_size=12).hexdigest()
    return f'W/"{digest}"'
