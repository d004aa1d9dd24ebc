"""Limits of the pages: how often people do what costs much, and how long a page may read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db import OperationalError
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from psycopg.errors import QueryCanceled

from pipeline.database import statement_time
from pipeline.database.instants import snapshot
from pipeline.web import rate_limit
from pipeline.web.addresses import client_address, client_site
from pipeline.wording.english import long_duration


class TooOften(Exception):
    """Rate limit reached. The message says when to try again."""

    def __init__(self, wait_seconds: int) -> None:
        super().__init__(
            _("Too many attempts from your network. Try again in %(wait)s.")
            % {"wait": long_duration(wait_seconds)}
        )
        self.wait_seconds = wait_seconds


def count_request(request: HttpRequest, name: str, subject: str | None = None) -> None:
    """Count a request against a rate limit of settings.THROTTLE_RATES. Raises TooOften.

    Each `subject` has its own count; by default it is the client's address. API requests count
    against the same limit. Refused requests do not count.
    """
    counted = (
        rate_limit.count_named(name, subject)
        if subject
        else rate_limit.count_client(name, client_address(request), site=client_site(request))
    )
    if counted is not None and not counted.tally.allowed:
        raise TooOften(counted.tally.wait_seconds)


def count_code(request: HttpRequest, address: str) -> None:
    """Count a code that a client requested for an address. Raises TooOften.

    The limit is per client and address, so a client cannot use up the codes of another person's
    address.
    """
    count_request(request, "code_request", f"{client_address(request)} {address}")


# Time limit for pages that read long logs as of one instant.


P = ParamSpec("P")
LONGEST_SECONDS = 5.0  # for one statement of such a page


def time_limited(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Run a read-only view at one instant, and answer 503 if the database takes too long."""

    @wraps(view)
    def time_limited_view(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        try:
            with snapshot():
                statement_time.limit(LONGEST_SECONDS)
                return view(request, *args, **kwargs)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            answer = render(request, "errors/slow.html", status=503)
            answer["Retry-After"] = "30"
            return answer

    return time_limited_view
