"""Secrets that stand for a person: made once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nila_"
CODE_DIGITS = 6


def new_token() -> str:
    """A fresh token: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode()).digest()


def new_code() -> str:
    """A fresh code, for typing: so few digits that only a few guesses at it may be allowed."""
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
