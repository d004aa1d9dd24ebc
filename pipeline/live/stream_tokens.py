"""Signed tokens for streams, so that a stream needs no database query.

A token only names jobs, and the stream says only that one of them changed, so its holder learns
when something happens there and nothing more. A signed-in person's token works only with that
session's cookie, and while the session lasts; a member's, while they may see each of the jobs.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from secrets import token_bytes
from uuid import UUID

from django.core.signing import BadSignature, TimestampSigner, b62_decode
from django.utils.crypto import salted_hmac

MOST_JOBS = 50
MAX_AGE = timedelta(hours=24)
_SALT = "live"
_BYTES = 16  # of a UUID
# The end of a token: how it is bound, and a digest of the session, or random bytes so that no two
# visitors have the same token. Before it, a member's token has the id of the account.
_TAIL_BYTES = 16
_SESSION, _MEMBER, _ANYBODY = b"s", b"m", b"a"


def issue(
    jobs: Iterable[UUID], session_key: str | None = None, member_id: UUID | None = None
) -> str:
    """Issue a token for the changes of these jobs (at most 50), valid for 24 hours.

    With a `session_key`, it is valid for that session only. With a member's account, too, it ends
    when one of the jobs no longer exists for them.
    """
    ids = list(dict.fromkeys(jobs))[:MOST_JOBS]
    holder = _ANYBODY + token_bytes(_TAIL_BYTES - 1)
    if session_key:
        digest = _session_digest(session_key)
        holder = member_id.bytes + _MEMBER + digest if member_id else _SESSION + digest
    content = b"".join(job.bytes for job in ids) + holder
    packed = urlsafe_b64encode(content).decode().rstrip("=")
    return TimestampSigner(salt=_SALT).sign(packed)


@dataclass(frozen=True, slots=True)
class StreamToken:
    """The jobs that a page listens to, and when it was issued, in seconds since 1970.

    `text` is the token itself. `session` is a digest, empty if the token is not bound to a session.
    `member_id` is the account of a member's token.
    """

    jobs: frozenset[UUID]
    issued: int
    text: str = ""
    session: bytes = b""
    member_id: UUID | None = None

    def is_for(self, session_key: str) -> bool:
        """Return whether the holder of a session may use the token."""
        return not self.session or compare_digest(self.session, _session_digest(session_key))


def read(text: str) -> StreamToken | None:
    """Parse a token, or return None if it is not ours, has expired or names no job."""
    try:
        packed = TimestampSigner(salt=_SALT).unsign(text, max_age=MAX_AGE)
    except BadSignature:
        return None
    raw = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    ids, kind, digest = raw[:-_TAIL_BYTES], raw[-_TAIL_BYTES:][:1], raw[1 - _TAIL_BYTES :]
    named = [UUID(bytes=ids[n : n + _BYTES]) for n in range(0, len(ids), _BYTES)]
    member_id = named.pop() if kind == _MEMBER else None
    session = b"" if kind == _ANYBODY else digest
    issued, jobs = b62_decode(text.split(":")[1]), frozenset(named)
    return StreamToken(jobs, issued, text, session, member_id) if jobs else None


def _session_digest(session_key: str) -> bytes:
    return salted_hmac(_SALT, session_key).digest()[: _TAIL_BYTES - 1]
