"""Middleware around every request."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable
from functools import cache
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from pipeline.web.page_middleware import pages_only
from tasks.log_context import bound_log_fields

ZONE_COOKIE = "time_zone"

_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def request_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Give each request an id: the client's X-Request-ID if it is sane, else a new one.

    It stands on every log line of the request, in problem bodies, and on the response.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if _SANE.fullmatch(given) else uuid4().hex
        request.request_id = name  # type: ignore[attr-defined]
        with bound_log_fields(request_id=name):
            response = get_response(request)
        response["X-Request-ID"] = name
        return response

    return middleware


@pages_only
def time_zone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Show times in the time zone from the browser's cookie; else in UTC.

    Only what is shown depends on it: every decision is made on the database's clock.
    """
    known_zones = cache(zoneinfo.available_timezones)

    def middleware(request: HttpRequest) -> HttpResponse:
        name = request.COOKIES.get(ZONE_COOKIE, "")
        with timezone.override(zoneinfo.ZoneInfo(name if name in known_zones() else "UTC")):
            return get_response(request)

    return middleware
