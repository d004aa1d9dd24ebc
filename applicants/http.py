"""Applicant of a browser's session, and the address that a browser wants to prove."""

from __future__ import annotations

import logging
from datetime import timedelta
from secrets import token_urlsafe
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token

from applicants.models import Applicant

security = logging.getLogger("security")

KEY = "applicant_id"
# The cookie with the address to which a code was sent. It is signed and kept only in the browser:
# an address leaves no trace here before it is proved.
PROVING = ("__Host-" if settings.SESSION_COOKIE_SECURE else "") + "address_to_prove"
PROVING_AGE = timedelta(days=1)
# For how long a browser that asked for a code is not sent another: emails take a while.
JUST_SENT = timedelta(seconds=30)
_SALT = "applicants.http.proving"


def sign_in_browser(request: HttpRequest, applicant: Applicant) -> None:
    """Sign a browser in as a person who has just proved their address.

    The earlier session is dropped with its id, a staff account's sign-in included, so that knowing
    the old id is of no use.
    """
    request.session.flush()
    request.session[KEY] = str(applicant.id)
    rotate_token(request)
    security.info("applicant.signed_in", extra={"applicant": str(applicant.id)})


def remember_address(
    response: HttpResponseBase, email: str, *, handle: str, after: str = ""
) -> None:
    """Keep in the browser the address to which a code was sent, and the page to show afterwards.

    `handle` is the secret by which this browser alone can enter that code.
    """
    response.set_cookie(
        PROVING,
        signing.dumps([email, after, handle], salt=_SALT),
        max_age=PROVING_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget_address(response: HttpResponseBase) -> None:
    """Remove the address from the browser."""
    response.delete_cookie(PROVING, samesite="Lax")


class Proving(NamedTuple):
    """The address to which a code was sent, the page to show afterwards or "", and the handle."""

    email: str
    after: str
    handle: str


def new_browser_handle() -> str:
    """Make the secret that binds a code to the browser that asks for it."""
    return token_urlsafe(16)


def address_to_prove(request: HttpRequest) -> Proving | None:
    """Return what a browser is about to prove, if it asked for a code."""
    try:
        kept = signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=PROVING_AGE)
    except signing.BadSignature:
        return None
    return Proving(*kept) if len(kept) == len(Proving._fields) else None


def was_code_just_sent(request: HttpRequest) -> bool:
    """Tell if this browser asked for a code within JUST_SENT, for any address."""
    try:
        signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=JUST_SENT)
    except signing.BadSignature:
        return False
    return True


def sign_out_browser(request: HttpRequest) -> None:
    """End the browser's session."""
    security.info("applicant.signed_out", extra={"applicant": request.session.get(KEY)})
    request.session.flush()


def applicant_id_of(request: HttpRequest) -> UUID | None:
    """Return the id of the applicant who is signed in, if any."""
    value = request.session.get(KEY)
    return UUID(value) if value else None
