"""Which applicant a browser's session stands for."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest
from django.middleware.csrf import rotate_token

from applicants.models import Applicant

KEY = "applicant_id"


def sign_in(request: HttpRequest, applicant: Applicant) -> None:
    """Have the browser's session stand for a person who has just proved their address.

    Whatever the session was before is dropped with its id, a staff account's sign-in included, so
    that nobody who knew the old id comes along.
    """
    request.session.flush()
    request.session[KEY] = str(applicant.id)
    rotate_token(request)


def sign_out(request: HttpRequest) -> None:
    """End the browser's session, whomever it stood for."""
    request.session.flush()


def applicant_id_of(request: HttpRequest) -> UUID | None:
    """The id of the person for whom the session stands, if it does for one."""
    value = request.session.get(KEY)
    return UUID(value) if value else None
