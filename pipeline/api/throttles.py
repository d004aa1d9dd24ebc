"""Rate limits of the API: named rates, reported in headers, refused with 429."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from pipeline.api.auth import CompanyCaller, PersonCaller, PortalCaller
from pipeline.web import rate_limit
from pipeline.web.addresses import client_address, client_site
from pipeline.web.rate_limit import CountedRate, Rate, Tally


def check(request: Request | HttpRequest, name: str, subject: str) -> None:
    """Count a request once against a named rate of settings.THROTTLE_RATES.

    `subject` owns the rate: a client's address, a credential or an email address. Raises Throttled
    (429, Retry-After) when the rate is used up. A refused request does not count.
    """
    _note(request, rate_limit.count_named(name, subject))


def check_client(request: Request | HttpRequest, name: str) -> None:
    """Count a request of a client, and of the network that its site has. Raises Throttled."""
    client, site = client_address(request), client_site(request)
    _note(request, rate_limit.count_client(name, client, site=site))


def _note(request: Request | HttpRequest, counted: CountedRate | None) -> None:
    if counted is None:
        return
    _counts(request).append(counted)
    if not counted.tally.allowed:
        raise Throttled(wait=counted.tally.wait_seconds)


def note_count(request: Request, name: str, rate: Rate, tally: Tally) -> None:
    """Report a rate that was counted elsewhere in the response's headers."""
    _counts(request).append(CountedRate(name, rate, tally))


def count_call(request: Request, caller: Any) -> None:
    """Count an API call by credential, or by address without one. Raises Throttled."""
    match caller:
        case CompanyCaller(actor_id=actor_id):
            check(request, "api", f"company {actor_id}")
        case PersonCaller(applicant_id=applicant_id):
            check(request, "api", f"person {applicant_id}")
        case PortalCaller(applicant_id=applicant_id, company_id=company_id):
            check(request, "api", f"portal {company_id} {applicant_id}")
        case _:
            check_client(request, "anonymous")


def add_headers(request: Request, response: HttpResponseBase) -> None:
    """Report the remaining rates in headers (draft-ietf-httpapi-ratelimit-headers).

    For a rate that was counted for two subjects, the smaller remainder is reported.
    """
    by_room = sorted(_counts(request), key=lambda each: -each.tally.remaining)
    rates = {each.name: each for each in by_room}.values()
    if rates:
        response["RateLimit-Policy"] = ", ".join(
            f'"{each.name}";q={each.rate.limit};w={each.rate.seconds}' for each in rates
        )
        response["RateLimit"] = ", ".join(
            f'"{each.name}";r={each.tally.remaining};t={each.tally.reset_seconds}' for each in rates
        )


def _counts(request: Request | HttpRequest) -> list[CountedRate]:
    """Return the rates counted for this request. They are kept on the innermost request."""
    plain = getattr(request, "_request", request)
    counted: list[CountedRate] = getattr(plain, "throttles", None) or []
    plain.throttles = counted  # type: ignore[union-attr]
    return counted
