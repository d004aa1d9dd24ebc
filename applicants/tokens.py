"""Secrets that stand for a person: made once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nila_"


def new_token() -> str:
    """A fresh token: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode()).digest()
