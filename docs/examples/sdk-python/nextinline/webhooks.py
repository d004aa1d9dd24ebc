"""Webhooks as Standard Webhooks 1.0 says: verify them, and for tests, make and sign them.

Needs only the standard library.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE_SECONDS = 5 * 60
# What a webhook takes over from the `data` of an event.
_TOLD = (
    "planned_seats_id",
    "accepted_until",
    "accept_until",
    "not_before",
    "pass_next",
)


class BadWebhook(Exception):
    """The request was not signed with the secret, or not lately. Answer 401."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A verified webhook. It may come more than once, each time with the same `id`."""

    id: str
    type: str
    timestamp: str
    data: dict[str, Any]
    test: bool = False  # of a sandbox


def verify_webhook(
    *, secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None
) -> Webhook:
    """Verify a request and return its content. Raises BadWebhook.

    `body` holds the raw bytes: parsing and encoding them again would change the signature. The
    names of `headers` may be in any case.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message, sent = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    is_number = sent.isascii() and sent.isdecimal()
    if not message or not is_number or abs(_time(now) - int(sent)) > TOLERANCE_SECONDS:
        raise BadWebhook("the time of the webhook is missing or too far off")
    expected = _signature(secret, f"{message}.{sent}.".encode() + body)
    # While a secret is being replaced there are two signatures, and either will do.
    offered = given.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(each.encode(), expected) for each in offered):
        raise BadWebhook("the webhook is not signed with this secret")
    content = json.loads(body)
    type_, at, data = content["type"], content["timestamp"], content["data"]
    return Webhook(message, type_, at, data, test=content.get("test", False))


def webhook_of_event(event: Mapping[str, Any], *, company_id: str, test: bool = False) -> bytes:
    """Return the body of the webhook that the site sends for an event of the feed.

    `test` is for a sandbox. Webhooks of messages and of background work are not in the feed.
    """
    kind = "job" if event["application_id"] is None else "application"
    data = {
        "company_id": company_id,
        "job_id": event["job_id"],
        "application_id": event["application_id"],
        "seq": event["seq"],
        "chain_head": event["hash"],
        "event": event["event"],
        "status": event["to_status"],
        "outcome": event["outcome"],
        **{name: event["data"][name] for name in _TOLD if name in event["data"]},
    }
    type_ = f"{kind}.{event['event'].removeprefix('JOB_').lower()}"
    told = {"type": type_, "timestamp": event["at"], "data": data}
    return json.dumps(told | {"test": True} if test else told, ensure_ascii=False).encode()


def sign_webhook(
    *, secret: str, message_id: str, body: bytes, now: float | None = None
) -> dict[str, str]:
    """Return the headers that the site sends with a body, signed with a secret."""
    sent = str(int(_time(now)))
    signature = _signature(secret, f"{message_id}.{sent}.".encode() + body)
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": sent,
        "webhook-signature": signature.decode(),
    }


def new_secret() -> str:
    """Return a new secret of a webhook endpoint."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("the secret of a webhook endpoint begins with whsec_") from None
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


def _time(now: float | None) -> float:
    return time.time() if now is None else now
