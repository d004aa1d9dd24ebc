"""Settings of the keys that sign receipts."""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from hashlib import sha256

from django.core.exceptions import ImproperlyConfigured

KEY_BYTES = 32


def receipt_key_from_text(name: str, text: str) -> bytes:
    """Return a key from the text of a setting. Raises ImproperlyConfigured, without the text."""
    with suppress(ValueError):
        key = b64decode(text.strip(), validate=True)
        if len(key) == KEY_BYTES:
            return key
    raise ImproperlyConfigured(f"{name} must be {KEY_BYTES} bytes in base64.")


def former_receipt_key_from_text(text: str) -> bytes:
    """Return a former public key from "id:public_key". Raises ImproperlyConfigured, without it.

    The id is computed from the public key, so a private key is never published by mistake.
    """
    key_id, _, encoded = text.strip().partition(":")
    key = receipt_key_from_text("RECEIPT_FORMER_KEYS", encoded)
    if receipt_key_id(key) != key_id:
        raise ImproperlyConfigured(
            "RECEIPT_FORMER_KEYS takes the id and the public_key of each key, with a colon between."
        )
    return key


def receipt_key_id(public_key: bytes) -> str:
    """Return the name of a public key, with which a receipt says who signed it."""
    return sha256(public_key).hexdigest()[:16]
