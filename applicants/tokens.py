"""Secrets that stand for a person: created once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nila_"


def new_applicant_token() -> str:
    """Make a token: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> bytes:
    """Return the hash of a token, which is all that is kept of it."""
    return sha256(token.encode()).digest()
