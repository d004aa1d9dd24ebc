"""Signed tokens for streams, so that a stream needs no look-up in the database.

A token says only which jobs' changes are told, and a change is told without what it was: whoever
holds one learns when something happens there, and nothing more.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core.signing import BadSignature, TimestampSigner, b62_decode

MOST_JOBS = 50
MAX_AGE = timedelta(hours=24)
_SALT = "live"
_BYTES = 16  # of a UUID


def issue(jobs: Iterable[UUID]) -> str:
    """Issue a token for the changes of these jobs (at most 50), valid for 24 hours."""
    ids = list(dict.fromkeys(jobs))[:MOST_JOBS]
    packed = urlsafe_b64encode(b"".join(job.bytes for job in ids)).decode().rstrip("=")
    return TimestampSigner(salt=_SALT).sign(packed)


@dataclass(frozen=True, slots=True)
class StreamToken:
    """The jobs that a page listens to, and when (in seconds since 1970) it was made."""

    jobs: frozenset[UUID]
    issued: int


def read(text: str) -> StreamToken | None:
    """Parse a token; None if it is not ours, has expired, or names no job."""
    try:
        packed = TimestampSigner(salt=_SALT).unsign(text, max_age=MAX_AGE)
    except BadSignature:
        return None
    raw = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    jobs = frozenset(UUID(bytes=raw[n : n + _BYTES]) for n in range(0, len(raw), _BYTES))
    return StreamToken(jobs, b62_decode(text.split(":")[1])) if jobs else None
