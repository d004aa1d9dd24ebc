"""Settings of the key under which the site sends notifications to devices (VAPID, RFC 8292)."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from contextlib import suppress
from email.utils import parseaddr

from django.core.exceptions import ImproperlyConfigured

KEY_BYTES = 32
_SUBJECT = re.compile(r"mailto:[^@\s]+@[^@\s]+|https://[^\s/]\S*")
# The number of points of P-256; a private key is between 0 and it.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def vapid_key_from_text(text: str) -> bytes:
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


def vapid_subject_from_text(text: str, *, sender: str) -> str:
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
