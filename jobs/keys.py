"""API keys: created once, shown once, stored only as a hash. Pure functions."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nilk_"
HINT_LENGTH = len(PREFIX) + 4


def new_api_key() -> str:
    """Make a key of 256 random bits, so that an unsalted hash of it is safe to look up."""
    return PREFIX + secrets.token_urlsafe(32)


def api_key_digest(key: str) -> bytes:
    """Return the hash of a key. Only the hash is stored."""
    return sha256(key.encode()).digest()


def api_key_hint(key: str) -> str:
    """Return the beginning of a key, which lets its owner recognise it."""
    return key[:HINT_LENGTH]
