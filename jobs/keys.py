"""API keys: made once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nilk_"
HINT_LENGTH = len(PREFIX) + 4


def new_key() -> str:
    """A fresh key: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(key: str) -> bytes:
    """What is kept of a key."""
    return sha256(key.encode()).digest()


def hint_of(key: str) -> str:
    """The beginning of a key, by which its owner can tell it from others."""
    return key[:HINT_LENGTH]
