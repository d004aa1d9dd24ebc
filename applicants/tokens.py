"""Secrets that stand for a person: created once, shown once, kept only as a hash. Pure."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "nila_"
# With one try in 10^8, even a thousand networks with tries of their own guess no code.
CODE_DIGITS = 8


def new_applicant_token() -> str:
    """Make a token: 256 random bits, so that its plain hash can be looked up but not guessed."""
    return PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> bytes:
    """Return the hash of a token, which is all that is kept of it."""
    return sha256(token.encode()).digest()


def new_code_digits() -> str:
    """Make a code for typing: it has few digits, so only a few guesses may be allowed."""
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
