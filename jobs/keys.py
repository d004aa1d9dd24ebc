"""API keys: created once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nilk_"
HINT_LENGTH = len(PREFIX) + 4


def new_api_key() -> str:
    """Make a key: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def api_key_digest(key: str) -> bytes:
    """Return the hash of a key, which is all that is kept of it."""
    return sha256(key.encode()).digest()


def api_key_hint(key: str) -> str:
    """Return the beginning of a key, by which its owner tells it from others."""
    return key[:HINT_LENGTH]
