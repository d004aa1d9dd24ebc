"""Links in emails. A confirm link is for one offer of one application.

The paths are written here and not resolved: a worker that sends emails would else load every page.
A test compares them with the addresses.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.core import signing

# For how long a link says what became of an offer that is not open any more. While it is open, the
# link works: quiet hours can put the deadline months away.
TOLD_AGE = timedelta(days=61)
_SALT = "pipeline.notifications.confirm"
_UNSUBSCRIBE = "pipeline.notifications.unsubscribe"


class LinkedOffer(NamedTuple):
    """Offer of a seat to an application by the event with this seq, as a link names it."""

    application_id: UUID
    seq: int


def make_offer_token(offer: LinkedOffer) -> str:
    """Sign an offer; the token proves that its bearer received the email."""
    return signing.dumps([offer.application_id.hex, offer.seq], salt=_SALT)


def read_offer_token(token: str) -> LinkedOffer | None:
    """Return the offer in a token of any age; None if the token is forged."""
    try:
        application_id, seq = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    return LinkedOffer(UUID(application_id), seq)


def is_offer_token_old(token: str) -> bool:
    """Tell whether a token is older than TOLD_AGE, or forged."""
    try:
        signing.loads(token, salt=_SALT, max_age=TOLD_AGE)
    except signing.BadSignature:
        return True
    return False


def confirm_url(offer: LinkedOffer) -> str:
    """Return the address where the recipient of the email confirms a seat."""
    return f"{settings.SITE_URL}/confirm/{make_offer_token(offer)}/"


def unsubscribe_url(what: str, of: UUID | int) -> str:
    """Return the address that ends emails of a kind (`reminders`, `digest`) to one person."""
    token = signing.dumps([what, str(of)], salt=_UNSUBSCRIBE)
    return f"{settings.SITE_URL}/unsubscribe/{token}/"


def leave_pool_url(application_id: UUID) -> str:
    """Return the address that takes a person out of the talent pool of an application's company."""
    return unsubscribe_url("pool", application_id)


def read_unsubscribe_token(token: str) -> tuple[str, str] | None:
    """Return the kind of emails and the id of the person; None if the token is forged."""
    try:
        what, of = signing.loads(token, salt=_UNSUBSCRIBE)
    except signing.BadSignature:
        return None
    return what, of


def application_url(application_id: UUID) -> str:
    """Return the address of an application's page for its signed-in owner."""
    return f"{settings.SITE_URL}/me/applications/{application_id}/"


def messages_url(application_id: UUID) -> str:
    """Return the address of an application's messages for its signed-in owner."""
    return f"{application_url(application_id)}messages/"


def data_url() -> str:
    """Return the address where signed-in people see and erase their data."""
    return f"{settings.SITE_URL}/me/data/"


def openings_url() -> str:
    """Return the address of the open jobs."""
    return f"{settings.SITE_URL}/"


def opening_url(job_id: UUID, *, source: str = "") -> str:
    """Return the address of a job's page, where people apply; with the source that it names."""
    query = f"?{urlencode({'source': source})}" if source else ""
    return f"{settings.SITE_URL}/jobs/{job_id}/{query}"


def review_url(application_id: UUID) -> str:
    """Return the address of an application's page for its company."""
    return f"{settings.SITE_URL}/company/applications/{application_id}/"


def overdue_url(job_id: UUID) -> str:
    """Return the address of a job's reviews past their target, for its company."""
    return f"{settings.SITE_URL}/company/jobs/{job_id}/applications/?review=overdue"


def board_url(job_id: UUID) -> str:
    """Return the address of a job's page for its company."""
    return f"{settings.SITE_URL}/company/jobs/{job_id}/"
