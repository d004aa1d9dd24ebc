"""Cache and transport headers of private pages."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

HSTS_SECONDS = 31_536_000
API = "/api/"


def private(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Forbid caching of pages that belong to a session, and keep TLS connections on TLS.

    After signing out, the browser's back button must not show the page again. Two kinds of
    responses set their own cache headers: those of the API, and fragments with an ETag, which their
    page fetches again.
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
