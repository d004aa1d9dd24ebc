"""Which applicant a browser's session stands for, or wants to stand for."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest
from django.middleware.csrf import rotate_token

from applicants.models import Applicant

KEY = "applicant_id"
PROVING = "address_to_prove"


def sign_in(request: HttpRequest, applicant: Applicant) -> None:
    """Have the browser's session stand for a person who has just proved their address.

    Whatever the session was before is dropped with its id, a staff account's sign-in included, so
    that nobody who knew the old id comes along.
    """
    request.session.flush()
    request.session[KEY] = str(applicant.id)
    rotate_token(request)


def remember_address(request: HttpRequest, email: str, *, after: str = "") -> None:
    """Keep in the session to which address a code was sent, and where to go once it is proved."""
    request.session[PROVING] = {"email": email, "after": after}


def address_to_prove(request: HttpRequest) -> tuple[str, str] | None:
    """The address to which this browser had a code sent, and where to go then ("" is anywhere)."""
    kept = request.session.get(PROVING)
    return (kept["email"], kept["after"]) if kept else None


def sign_out(request: HttpRequest) -> None:
    """End the browser's session, whomever it stood for."""
    request.session.flush()


def applicant_id_of(request: HttpRequest) -> UUID | None:
    """The id of the person for whom the session stands, if it does for one."""
    value = request.session.get(KEY)
    return UUID(value) if value else None
