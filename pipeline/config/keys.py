"""Keys of receipts and push messages, and rules for passwords."""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode
from contextlib import suppress
from email.utils import parseaddr
from hashlib import sha256

from django.core.exceptions import ImproperlyConfigured, ValidationError

KEY_BYTES = 32


def parse_receipt(name: str, text: str) -> bytes:
    """Return a key from the text of a setting. Raises ImproperlyConfigured, without the text."""
    with suppress(ValueError):
        key = b64decode(text.strip(), validate=True)
        if len(key) == KEY_BYTES:
            return key
    raise ImproperlyConfigured(f"{name} must be {KEY_BYTES} bytes in base64.")


def parse_former_receipt(text: str) -> bytes:
    """Return a former public key from "id:public_key". Raises ImproperlyConfigured, without it.

    The id is computed from the public key, so a private key is never published by mistake.
    """
    key_id, _, encoded = text.strip().partition(":")
    key = parse_receipt("RECEIPT_FORMER_KEYS", encoded)
    if receipt_key_id(key) != key_id:
        raise ImproperlyConfigured(
            "RECEIPT_FORMER_KEYS takes the id and the public_key of each key, with a colon between."
        )
    return key


def receipt_key_id(public_key: bytes) -> str:
    """Return the name of a public key, with which a receipt says who signed it."""
    return sha256(public_key).hexdigest()[:16]


# Settings for the key under which the site sends notifications to devices (VAPID, RFC 8292).


_SUBJECT = re.compile(r"mailto:[^@\s]+@[^@\s]+|https://[^\s/]\S*")
# The number of points of P-256; a private key is between 0 and it.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def parse_vapid(text: str) -> bytes:
    """Return a private key from the text of the setting; empty without one.

    Raises ImproperlyConfigured, without the text.
    """
    plain = text.strip().rstrip("=").replace("+", "-").replace("/", "_")
    if not plain:
        return b""
    with suppress(ValueError):
        key = urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
        if len(key) == KEY_BYTES and 0 < int.from_bytes(key) < _ORDER:
            return key
    raise ImproperlyConfigured(
        f"VAPID_PRIVATE_KEY must be {KEY_BYTES} bytes in base64; .env.example says how to make it."
    )


def parse_vapid_subject(text: str, *, sender: str) -> str:
    """Return the address for operators of push services; by default that of `sender`.

    Raises ImproperlyConfigured if it is neither a mailto: nor an https: address.
    """
    subject = text.strip() or f"mailto:{parseaddr(sender)[1]}"
    if not _SUBJECT.fullmatch(subject):
        raise ImproperlyConfigured(
            "VAPID_SUBJECT must be mailto: and an email address, or an https:// address. Without"
            " it, MAIL_FROM must have an email address."
        )
    return subject


# Validator of new passwords, besides Django's.


class MaximumPasswordLengthValidator:
    """Validator that refuses very long passwords, which would take long to hash."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length

    def validate(self, password: str, user: object = None) -> None:
        """Raise ValidationError if a password is too long."""
        if len(password) > self.max_length:
            raise ValidationError(
                f"This password is too long. Use at most {self.max_length} characters.",
                code="password_too_long",
            )

    def get_help_text(self) -> str:
        """Return the rule for people."""
        return f"Your password can have at most {self.max_length} characters."
