"""Verification of webhooks, as Standard Webhooks 1.0 says. Needs only the standard library."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE_SECONDS = 5 * 60


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


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("the secret of a webhook endpoint begins with whsec_") from None
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


def _time(now: float | None) -> float:
    return time.time() if now is None else now
