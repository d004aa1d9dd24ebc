"""Applicant tokens: created once, shown once, stored only as a hash. Pure functions."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nila_"


def new_applicant_token() -> str:
    """Make a token of 256 random bits, so that an unsalted hash of it is safe to look up."""
    return PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> bytes:
    """Return the hash of a token. Only the hash is stored."""
    return sha256(token.encode()).digest()
