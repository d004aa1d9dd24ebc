"""Which applicant a browser's session stands for, or wants to stand for."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token

from applicants.models import Applicant

KEY = "applicant_id"
# The cookie with the address to which a code was sent. Signed, and kept nowhere but in the browser:
# whoever types in an address leaves no trace of it here before it is proved.
PROVING = "address_to_prove"
PROVING_AGE = timedelta(days=1)
# For how long the browser that had a code sent is not sent another: mails take a while.
JUST_SENT = timedelta(seconds=30)
_SALT = "applicants.http.proving"


def sign_in(request: HttpRequest, applicant: Applicant) -> None:
    """Have the browser's session stand for a person who has just proved their address.

    Whatever the session was before is dropped with its id, a staff account's sign-in included, so
    that nobody who knew the old id comes along.
    """
    request.session.flush()
    request.session[KEY] = str(applicant.id)
    rotate_token(request)


def remember_address(response: HttpResponseBase, email: str, *, after: str = "") -> None:
    """Keep in the browser to which address a code was sent, and where to go once it is proved."""
    response.set_cookie(
        PROVING,
        signing.dumps([email, after], salt=_SALT),
        max_age=PROVING_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget_address(response: HttpResponseBase) -> None:
    """Have the browser keep no address any more."""
    response.delete_cookie(PROVING, samesite="Lax")


def address_to_prove(request: HttpRequest) -> tuple[str, str] | None:
    """The address to which this browser had a code sent, and where to go then ("" is anywhere)."""
    try:
        kept = signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=PROVING_AGE)
    except signing.BadSignature:
        return None
    return kept[0], kept[1]


def was_just_sent(request: HttpRequest) -> bool:
    """Whether this browser had the last code sent within JUST_SENT; whoever's the address is."""
    try:
        signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=JUST_SENT)
    except signing.BadSignature:
        return False
    return True


def sign_out(request: HttpRequest) -> None:
    """End the browser's session, whomever it stood for."""
    request.session.flush()


def applicant_id_of(request: HttpRequest) -> UUID | None:
    """The id of the person for whom the session stands, if it does for one."""
    value = request.session.get(KEY)
    return UUID(value) if value else None
