"""Middleware for every request."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.log import log_response

from pipeline.web.caller import CallerName
from pipeline.web.client_address import ACCEPTED_CREDENTIAL, client_address
from pipeline.web.page_middleware import pages_only
from tasks.log_context import bound_log_fields

ZONE_COOKIE = "time_zone"

_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def request_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Give each request an id: the client's X-Request-ID if it is sane, else a new one.

    The id is on every log line of the request (with the caller and the client's address), in
    problem bodies and on the response. Refusals are logged here because Django would log them after
    the last middleware, without these.
    """

    def request_id_middleware(request: HttpRequest) -> HttpResponse:
        name = request_id_of_header(request.headers.get("X-Request-ID", ""))
        request.request_id = name  # type: ignore[attr-defined]
        caller = CallerName(request)
        fields = {"caller": caller, "address": client_address(request)}
        with bound_log_fields(request_id=name, **fields):
            response = get_response(request)
            if name_of_known := caller.accepted:
                request.META[ACCEPTED_CREDENTIAL] = name_of_known
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                caller.look_up()
                words = (response.reason_phrase, request.path)
                log_response("%s: %s", *words, response=response, request=request)
        response["X-Request-ID"] = name
        return response

    return request_id_middleware


def request_id_of_header(given: str) -> str:
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


def browser_policies(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Switch off browser features that no page needs, and forbid other sites to embed responses."""

    def browser_policies_middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return browser_policies_middleware


@pages_only
def time_zone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Show times in the time zone from the browser's cookie, or in UTC without one.

    This affects display only: every decision uses the database's clock.
    """
    known_zones = cache(zoneinfo.available_timezones)

    def time_zone_middleware(request: HttpRequest) -> HttpResponse:
        name = request.COOKIES.get(ZONE_COOKIE, "")
        with timezone.override(zoneinfo.ZoneInfo(name if name in known_zones() else "UTC")):
            return get_response(request)

    return time_zone_middleware
