"""Middleware that only pages need, and the headers that API responses get instead.

API requests skip this middleware. Their responses still carry its headers, which never vary, so
they are computed once, when the application starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import response_for_exception
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware

API = "/api/"
API_DOCUMENTATION = "/api/v1/docs/"

GetResponse = Callable[[HttpRequest], Any]


def is_page_request(request: HttpRequest) -> bool:
    """Return whether a request is for a page. The API's documentation is a page too."""
    path = request.path_info
    return not path.startswith(API) or path == API_DOCUMENTATION


def pages_only(factory: Callable[[GetResponse], Any]) -> Callable[[GetResponse], GetResponse]:
    """Make API requests skip a middleware function."""

    def make_for_pages_only(get_response: GetResponse) -> GetResponse:
        for_pages = factory(get_response)

        def api_headers_middleware(request: HttpRequest) -> Any:
            return for_pages(request) if is_page_request(request) else get_response(request)

        vars(api_headers_middleware).update(vars(for_pages))  # process_exception and the like
        return api_headers_middleware

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


class Common(PagesOnly, CommonMiddleware):
    """Django's host check, and the response's Content-Length."""


class PageCSRF(PagesOnly, CsrfViewMiddleware):
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


def api_headers_instead_of_page(get_response: GetResponse) -> GetResponse:
    """Check the host of API requests, and add the constant headers to their responses."""
    answer = HttpResponse()
    del answer.headers["Content-Type"]
    pages: GetResponse = lambda _request: answer  # noqa: E731
    for each in (CSPMiddleware, SecurityMiddleware):
        pages = each(pages)
    pages(HttpRequest())
    add_transport_security(answer)
    # A browser that is led to an answer saves it, and never shows it as a page.
    answer.headers["Content-Disposition"] = 'attachment; filename="api.json"'
    constant = list(answer.headers.items())

    def pages_only_middleware(request: HttpRequest) -> Any:
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

    return pages_only_middleware
