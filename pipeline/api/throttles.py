"""How often somebody may call: named rates, told in headers, refused with 429."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from pipeline.api.callers import CompanyCaller, PersonCaller
from pipeline.limits.rate_limit import Rate, Tally, count
from pipeline.web.client_address import client_address


@dataclass(frozen=True, slots=True)
class Told:
    """A rate against which a request was counted, and what is left of it."""

    name: str
    rate: Rate
    tally: Tally


def check_throttle(request: Request | HttpRequest, name: str, subject: str) -> None:
    """Count a request against a named rate of settings.THROTTLE_RATES; once for each call of this.

    `subject` is whose rate it is: an address, a credential, a mail address. Raises Throttled (429,
    Retry-After) when nothing is left of it; what is refused does not count.
    """
    given = settings.THROTTLE_RATES[name]
    if given is None:
        return
    rate = Rate(*given)
    tally = count(name, subject, rate)
    _told(request).append(Told(name, rate, tally))
    if not tally.allowed:
        raise Throttled(wait=tally.wait_seconds)


def note_count(request: Request, name: str, rate: Rate, tally: Tally) -> None:
    """Tell of a rate that was counted elsewhere, in the headers of the answer."""
    _told(request).append(Told(name, rate, tally))


def check_call(request: Request, caller: Any) -> None:
    """Count a call of the API: by credential, or by address if there is none. Raises Throttled."""
    match caller:
        case CompanyCaller(actor_id=actor_id):
            check_throttle(request, "api", f"company {actor_id}")
        case PersonCaller(applicant_id=applicant_id):
            check_throttle(request, "api", f"person {applicant_id}")
        case _:
            check_throttle(request, "anonymous", client_address(request))


def tell(request: Request, response: HttpResponseBase) -> None:
    """Say in the answer's headers what is left (draft-ietf-httpapi-ratelimit-headers).

    Of a rate that was counted for two subjects, what is left for the one with less.
    """
    by_room = sorted(_told(request), key=lambda each: -each.tally.remaining)
    told = {each.name: each for each in by_room}.values()
    if told:
        response["RateLimit-Policy"] = ", ".join(
            f'"{each.name}";q={each.rate.limit};w={each.rate.seconds}' for each in told
        )
        response["RateLimit"] = ", ".join(
            f'"{each.name}";r={each.tally.remaining};t={each.tally.reset_seconds}' for each in told
        )


def _told(request: Request | HttpRequest) -> list[Told]:
    """What was counted so far for this request, however it is wrapped."""
    plain = getattr(request, "_request", request)
    told: list[Told] = getattr(plain, "throttles", None) or []
    plain.throttles = told  # type: ignore[union-attr]
    return told
