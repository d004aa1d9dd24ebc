"""Webhooks in words: why an attempt failed, and why an endpoint is off."""

from __future__ import annotations

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.webhooks.client import Failure

FAILURES = {
    Failure.NAME_NOT_FOUND: "The host name does not resolve",
    Failure.ADDRESS_REFUSED: "The host has no address on the public internet",
    Failure.CONNECTION_FAILED: "No connection",
    Failure.TLS_FAILED: "The certificate could not be verified",
    Failure.TIMEOUT: "No answer within 15 seconds",
    Failure.BAD_ANSWER: "The answer could not be read",
    Failure.REDIRECT: "It answered with a redirect, which we do not follow",
    Failure.STATUS: "It answered with an error",
    Failure.GONE: "It answered 410, so it wants no more webhooks",
    Failure.SECRET_UNREADABLE: "We cannot read its secret any more: rotate it",
    Failure.ENDPOINT_OFF: "Not sent, because the endpoint was switched off",
}
OFF_REASONS: dict[str, str] = {
    WebhookEndpoint.OffReason.BY_HAND: "It was switched off by hand.",
    WebhookEndpoint.OffReason.GONE: (
        "It answered 410 Gone, which means that it wants no more webhooks."
    ),
    WebhookEndpoint.OffReason.FAILING: (
        "A delivery failed ten times in three days, and nothing else arrived in that time."
    ),
}
# Word and tone of each state of a delivery.
STATES = {
    WebhookDelivery.State.PENDING: ("Waiting", "warn"),
    WebhookDelivery.State.DELIVERED: ("Delivered", "good"),
    WebhookDelivery.State.FAILED: ("Failed", "bad"),
}


def webhook_failure_in_words(error: str, status: int | None) -> str:
    """Describe why an attempt failed; empty if it did not."""
    if not error:
        return ""
    words = FAILURES.get(Failure(error), error)
    return f"{words} ({status})" if status and error == Failure.STATUS else words
