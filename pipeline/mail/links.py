"""Links in mails. One that confirms a seat stands for one offer of one application."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

MAX_AGE = timedelta(days=61)
"""Longer than the longest window and its extension."""
_SALT = "pipeline.notifications.confirm"


class Offer(NamedTuple):
    """A seat that was offered to an application by the event with that seq."""

    application_id: UUID
    seq: int


def make_token(offer: Offer) -> str:
    """What proves that its bearer got the mail about an offer."""
    return signing.dumps([offer.application_id.hex, offer.seq], salt=_SALT)


def read_token(token: str) -> Offer | None:
    """The offer of a token; None if it is not ours, or older than any offer that still stands."""
    try:
        application_id, seq = signing.loads(token, salt=_SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return None
    return Offer(UUID(application_id), seq)


def confirm_link(offer: Offer) -> str:
    """Where an offered seat is confirmed, by whoever got the mail."""
    return settings.SITE_URL + reverse("confirm_offer", args=[make_token(offer)])


def application_link(application_id: UUID) -> str:
    """Where an application's owner sees it, signed in."""
    return settings.SITE_URL + reverse("my_application", args=[application_id])


def data_link() -> str:
    """Where people see what is kept about them, and erase it, signed in."""
    return settings.SITE_URL + reverse("my_data")


def openings_link() -> str:
    """Where the open jobs are."""
    return settings.SITE_URL + reverse("openings")
