"""Addresses to which applicants answer: one for each thread, signed, and short enough for email.

The local part of an address has at most 64 characters, whose case may get lost. So the signed part
is base32 of the application's id and of the first 80 bits of an HMAC.
"""

from __future__ import annotations

import base64
import re
from uuid import UUID

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from pipeline.config.correspondence import PLACE

_SALT = "pipeline.correspondence.reply_addresses"
_ID_BYTES, _MAC_BYTES = 16, 10
_SIGNED = r"([a-z2-7]{42})"


def make_reply_address(application_id: UUID) -> str:
    """Return the address that answers on an application go to; empty if the site takes none."""
    if not settings.REPLY_ADDRESS:
        return ""
    signed = application_id.bytes + _mac(application_id, settings.SECRET_KEY)
    token = base64.b32encode(signed).decode().rstrip("=").lower()
    return str(settings.REPLY_ADDRESS).replace(PLACE, token)


def read_reply_address(address: str) -> UUID | None:
    """Return the application whose answers go to an address; None if it is not signed by us."""
    if not settings.REPLY_ADDRESS:
        return None
    before, after = map(re.escape, settings.REPLY_ADDRESS.split(PLACE))
    found = re.fullmatch(before + _SIGNED + after, address.strip().strip("<>").lower())
    if found is None:
        return None
    token = found[1].upper()
    signed = base64.b32decode(token + "=" * 6)
    if base64.b32encode(signed).decode().rstrip("=") != token:
        return None  # the last letter has two bits to spare
    application_id = UUID(bytes=signed[:_ID_BYTES])
    given = signed[_ID_BYTES:]
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    # Each is compared, so that the time says nothing about them.
    known = [constant_time_compare(given, _mac(application_id, key)) for key in keys]
    return application_id if any(known) else None


def _mac(application_id: UUID, key: str) -> bytes:
    text = application_id.hex
    return salted_hmac(_SALT, text, secret=key, algorithm="sha256").digest()[:_MAC_BYTES]
