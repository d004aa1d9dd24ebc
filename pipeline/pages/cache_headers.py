"""What browsers may keep of pages that are somebody's own, and by which way they may come back."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

HSTS_SECONDS = 31_536_000
API = "/api/"


def private(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Have nothing of a session kept by browsers or on the way to them, and TLS stay TLS.

    So that after signing out "back" shows nobody's page. Two kinds of answers say themselves how
    they may be kept: those of the API, and those with an ETag (fragments, which the page that holds
    them asks for again).
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session = request.session
        is_own = session.accessed and not session.is_empty()
        says_itself = response.has_header("ETag") or request.path.startswith(API)
        if is_own and not says_itself:
            patch_cache_control(response, private=True, no_store=True)
        if settings.SESSION_COOKIE_SECURE:
            response.setdefault("Strict-Transport-Security", f"max-age={HSTS_SECONDS}")
        return response

    return middleware
