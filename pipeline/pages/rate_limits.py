"""How often somebody may have mails sent, guess at codes, or verify: at the API's own rates."""

from __future__ import annotations

from django.http import HttpRequest

from pipeline.limits.rate_limit import count_named
from pipeline.web.client_address import client_address
from pipeline.wording.english import long_duration


class TooOften(Exception):
    """Nothing is left of a rate for now. Says in its words when to try again."""

    def __init__(self, wait_seconds: int) -> None:
        super().__init__(
            "That was tried too often from your network. Please wait"
            f" {long_duration(wait_seconds)} and try again."
        )
        self.wait_seconds = wait_seconds


def limit(request: HttpRequest, name: str, subject: str | None = None) -> None:
    """Count a request against a rate of settings.THROTTLE_RATES.

    `subject` is whose rate it is; the client's address if none is named.

    What is counted here and in the API adds up. Raises TooOften; what is refused does not count.
    """
    counted = count_named(name, subject or client_address(request))
    if counted is not None and not counted.tally.allowed:
        raise TooOften(counted.tally.wait_seconds)


def limit_codes_to(request: HttpRequest, address: str) -> None:
    """Count a code that a client has sent to an address, by signing in or by applying.

    One client alone can so not use up what may be sent to somebody else's address. Raises TooOften.
    """
    limit(request, "code_request", f"{client_address(request)} {address}")
