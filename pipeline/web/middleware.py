"""Middleware: for every request, only for pages, and what the API gets instead.

API requests skip the middleware of pages. Their responses still carry its headers, which never
vary, so they are computed once, when the application starts.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import response_for_exception
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.log import log_response

from jobs import time_zones
from pipeline.web.addresses import ACCEPTED_CREDENTIAL, PROGRAMS, client_address
from pipeline.web.requests import CallerName
from tasks import log_context

API_DOCUMENTATION = "/api/v1/docs/"
# Asked at a process's own address: by monitoring, and by a proxy that wants a certificate.
MONITORING = ("/health/live", "/health/ready", "/health/domain", "/metrics")

GetResponse = Callable[[HttpRequest], Any]


def is_page_request(request: HttpRequest) -> bool:
    """Return whether a request is for a page. The API's documentation is a page too."""
    path = request.path_info
    return not path.startswith(PROGRAMS) or path == API_DOCUMENTATION


def pages_only(factory: Callable[[GetResponse], Any]) -> Callable[[GetResponse], GetResponse]:
    """Make API requests skip a middleware function."""

    def make_for_pages_only(get_response: GetResponse) -> GetResponse:
        for_pages = factory(get_response)

        def pages_only_middleware(request: HttpRequest) -> Any:
            return for_pages(request) if is_page_request(request) else get_response(request)

        vars(pages_only_middleware).update(vars(for_pages))  # process_exception and the like
        return pages_only_middleware

    return make_for_pages_only


class PagesOnly:
    """Base of middleware classes that API requests skip."""

    get_response: GetResponse

    def __call__(self, request: HttpRequest) -> Any:
        """Respond to a request, through the middleware only if it is for a page."""
        if is_page_request(request):
            return super().__call__(request)  # type: ignore[misc]
        return self.get_response(request)


class Security(PagesOnly, SecurityMiddleware):
    """Django's security headers."""


class ContentSecurityPolicy(PagesOnly, CSPMiddleware):
    """Django's Content-Security-Policy header, from the settings or the view."""


class PageCommonMiddleware(PagesOnly, CommonMiddleware):
    """Django's host check, and the response's Content-Length.

    Monitoring is not checked: it asks each process at its own address, and its answers name no URL.
    """

    def process_request(self, request: HttpRequest) -> Any:
        """Refuse an unknown host name, except to monitoring."""
        return None if request.path_info in MONITORING else super().process_request(request)


class PageCSRFMiddleware(PagesOnly, CsrfViewMiddleware):
    """Django's CSRF check for forms. The API checks sessions itself."""

    def process_view(self, request: HttpRequest, *args: Any) -> Any:
        """Refuse a form without a CSRF token."""
        return super().process_view(request, *args) if is_page_request(request) else None


def transport_security() -> str:
    """Return the Strict-Transport-Security of every answer; empty if the site has none."""
    if not settings.SECURE_HSTS_SECONDS:
        return ""
    policy = f"max-age={settings.SECURE_HSTS_SECONDS}"
    policy += "; includeSubDomains" if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else ""
    return policy + ("; preload" if settings.SECURE_HSTS_PRELOAD else "")


def add_transport_security(response: HttpResponse) -> None:
    """Set Strict-Transport-Security. Browsers ignore it on plain HTTP."""
    if policy := transport_security():
        response.headers.setdefault("Strict-Transport-Security", policy)


def api_headers(get_response: GetResponse) -> GetResponse:
    """Check the host of API requests, and add the constant headers to their responses."""
    answer = HttpResponse()
    del answer.headers["Content-Type"]
    pages: GetResponse = lambda _request: answer  # noqa: E731
    for each in (CSPMiddleware, SecurityMiddleware):
        pages = each(pages)
    pages(HttpRequest())
    add_transport_security(answer)
    # A browser that opens an answer's address saves it, and never shows it as a page.
    answer.headers["Content-Disposition"] = 'attachment; filename="api.json"'
    constant = list(answer.headers.items())

    def api_headers_middleware(request: HttpRequest) -> Any:
        if is_page_request(request):
            return get_response(request)
        try:
            request.get_host()
        except DisallowedHost as error:
            response = response_for_exception(request, error)
        else:
            response = get_response(request)
        for name, value in constant:
            response.headers.setdefault(name, value)
        if not response.streaming and "Content-Length" not in response.headers:
            response.headers["Content-Length"] = str(len(response.content))
        return response

    return api_headers_middleware


ZONE_COOKIE = "time_zone"

_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def request_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Give each request an id: the client's X-Request-ID if it is sane, else a new one.

    The id is on every log line of the request (with the caller, the client's address and the ids in
    the URL, such as job_id), in problem bodies and on the response. Refusals are logged here
    because Django would log them after the last middleware, without these.
    """

    def request_id_middleware(request: HttpRequest) -> HttpResponse:
        name = sane_request_id(request.headers.get("X-Request-ID", ""))
        request.request_id = name  # type: ignore[attr-defined]
        caller = CallerName(request)
        fields = {"caller": caller, "address": client_address(request)}
        with log_context.bound_fields(request_id=name, **fields):
            response = get_response(request)
            if name_of_known := caller.accepted_name:
                request.META[ACCEPTED_CREDENTIAL] = name_of_known
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                caller.look_up()
                words = (response.reason_phrase, request.path)
                log_response("%s: %s", *words, response=response, request=request)
        response["X-Request-ID"] = name
        return response

    def log_ids_of_url(_request: HttpRequest, _view: Any, _args: Any, ids: dict[str, Any]) -> None:
        log_context.add_fields(**{name: str(ids[name]) for name in ids if name.endswith("_id")})

    request_id_middleware.process_view = log_ids_of_url  # type: ignore[attr-defined]
    return request_id_middleware


def sane_request_id(given: str) -> str:
    """Return the given request id if it is sane, else a new one."""
    return given if _SANE.fullmatch(given) else uuid4().hex


# Browser features that no page uses. Passkeys are used only on pages of this site.
_UNUSED = (
    "accelerometer autoplay camera display-capture fullscreen geolocation gyroscope hid"
    " idle-detection local-fonts magnetometer microphone midi payment screen-wake-lock"
    " serial usb xr-spatial-tracking"
)
PERMISSIONS_POLICY = ", ".join(
    [*(f"{name}=()" for name in _UNUSED.split())]
    + [f"publickey-credentials-{act}=(self)" for act in ("get", "create")]
)


def browser_policy_headers(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Switch off browser features that no page needs, and forbid other sites to embed responses."""

    def browser_policy_headers_middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return browser_policy_headers_middleware


@pages_only
def time_zone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Show times in the time zone from the browser's cookie, or in UTC without one.

    This affects display only: every decision uses the database's clock.
    """

    def time_zone_middleware(request: HttpRequest) -> HttpResponse:
        name = request.COOKIES.get(ZONE_COOKIE, "")
        known = name if name in time_zones.known() else "UTC"
        with timezone.override(zoneinfo.ZoneInfo(known)):
            return get_response(request)

    return time_zone_middleware


# Cache headers of private pages.


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
