"""Applicant signed in to a browser's session, the address it is proving, and its notifications."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from secrets import token_urlsafe
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token

from applicants.models import Applicant, Device

security = logging.getLogger("security")

KEY = "applicant_id"
# Session key of the person and the application that a link in an email opened, and for how long.
LINKED, LINKED_AGE = "linked_application", timedelta(days=1)
# Cookie with the address that a code was sent to. It is signed and kept only in the browser, so an
# unproved address leaves no trace on the server.
PROVING = ("__Host-" if settings.SESSION_COOKIE_SECURE else "") + "address_to_prove"
PROVING_AGE = timedelta(days=1)
# Time before a browser can request another code: emails take a while to arrive.
JUST_SENT = timedelta(seconds=30)
_SALT = "applicants.http.proving"
# Cookie with the id of the device that this browser is, so that signing out ends its notifications.
DEVICE = ("__Host-" if settings.SESSION_COOKIE_SECURE else "") + "device"
DEVICE_AGE = timedelta(days=365)


def sign_in(request: HttpRequest, applicant: Applicant) -> None:
    """Sign a browser in as a person who has just proved their address.

    The earlier session and its id are dropped, including any staff sign-in, so that the old id is
    useless to anyone who knows it. The notifications of the browser's previous user are dropped
    too.
    """
    forget_device(request, unless=Q(applicant=applicant))
    request.session.flush()
    request.session[KEY] = str(applicant.id)
    rotate_token(request)
    security.info("applicant.signed_in", extra={"applicant": str(applicant.id)})


def open_application(request: HttpRequest, *, applicant_id: UUID, application_id: UUID) -> None:
    """Open one application to a browser that used the link in its email, for LINKED_AGE.

    It signs nobody in: a forwarded email gives away neither the person's other applications nor
    their data. A browser in which the same person is signed in stays as it is.
    """
    if signed_in_person_id(request) == applicant_id:
        return
    request.session.flush()
    request.session[LINKED] = [str(applicant_id), str(application_id)]
    request.session.set_expiry(LINKED_AGE)
    rotate_token(request)
    ids = {"applicant": str(applicant_id), "application": str(application_id)}
    security.info("applicant.opened_application", extra=ids)


def remember_address(
    response: HttpResponseBase, email: str, *, handle: str, after: str = ""
) -> None:
    """Store in the browser the address that a code was sent to, and the page to show afterwards.

    `handle` is the secret that lets only this browser enter the code.
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
    """Address that a code was sent to, page to show afterwards (or ""), and the handle."""

    email: str
    after: str
    handle: str


def new_handle() -> str:
    """Make the secret that binds a code to the browser that requests it."""
    return token_urlsafe(16)


def address_being_proved(request: HttpRequest) -> Proving | None:
    """Return the address that a browser is proving; None if it has not requested a code."""
    try:
        kept = signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=PROVING_AGE)
    except signing.BadSignature:
        return None
    return Proving(*kept) if len(kept) == len(Proving._fields) else None


def has_requested_code(request: HttpRequest) -> bool:
    """Tell whether this browser requested a code, for any address, within JUST_SENT."""
    try:
        signing.loads(request.COOKIES.get(PROVING, ""), salt=_SALT, max_age=JUST_SENT)
    except signing.BadSignature:
        return False
    return True


def remember_device(response: HttpResponseBase, device: Device) -> None:
    """Store in the browser which device it is."""
    response.set_cookie(
        DEVICE,
        str(device.id),
        max_age=DEVICE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def remembered_device_id(request: HttpRequest) -> UUID | None:
    """Return the id of the device that this browser is, if it has notifications."""
    with suppress(ValueError):
        return UUID(request.COOKIES.get(DEVICE, ""))
    return None


def forget_device(request: HttpRequest, *, unless: Q | None = None) -> None:
    """End the notifications in this browser, unless they are for these people."""
    if device_id := remembered_device_id(request):
        rows = Device.objects.filter(id=device_id)
        (rows if unless is None else rows.exclude(unless)).delete()


def sign_out(request: HttpRequest) -> None:
    """End the browser's session and its notifications, even those of an expired session."""
    forget_device(request)
    security.info("applicant.signed_out", extra={"applicant": request.session.get(KEY)})
    request.session.flush()


def signed_in_person_id(request: HttpRequest) -> UUID | None:
    """Return the id of the signed-in applicant, if any."""
    value = request.session.get(KEY)
    return UUID(value) if value else None


def linked_person_id(request: HttpRequest, application_id: UUID) -> UUID | None:
    """Return the id of the person whose link opened an application here, if one did."""
    person, application = request.session.get(LINKED, (None, None))
    return UUID(person) if application == str(application_id) else None
