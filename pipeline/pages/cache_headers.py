"""Cache headers of private pages."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from pipeline.web.middleware import add_transport_security, pages_only


@pages_only
def forbid_caching(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Forbid caching of pages that belong to a session.

    After signing out, the browser's back button must not show the page again. Fragments with an
    ETag, which their page fetches again, set their own cache headers.
    """

    def cache_headers_middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session = request.session
        is_own = session.accessed and not session.is_empty()
        if is_own and not response.has_header("ETag"):
            patch_cache_control(response, private=True, no_store=True)
        add_transport_security(response)
        return response

    return cache_headers_middleware
