"""Idempotency keys: a request repeated under one key is carried out once.

A claim is taken before the work and settled after it, each in its own commit that does not wait for
the disk. If a database crash loses one, the id of the created row (see `IdempotencyClaim.row_id`)
still identifies it, because the log on disk keeps the order of commits. A retry is then answered
from the row as it is now: the effect is the same, but perhaps not the answer.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger(__name__)


KEPT_SECONDS = 24 * 3_600
# After this long without a response, a request counts as lost with its process; longer than any
# request takes.
LEASE_SECONDS = 60

# How many settlements wait in a process for a database that is away, and how long between attempts.
# Without them, each of these requests could be sent again only when its claim has expired.
MOST_UNSETTLED, RETRY_SECONDS = 1_000, 0.5
# One that waits for its row's lock waits this long, and the others with it.
SETTLEMENT_LOCK_MS = 50

# Claims a key that is new, expired, released, or whose request was lost; otherwise returns no row.
# Of several concurrent requests, one gets it: the others wait for that row and then see the claim.
_CLAIM = """
INSERT INTO pipeline_idempotencyrecord AS r
       (id, fingerprint, run, created_at, leased_until, expires_at, released)
SELECT %(id)s, %(fingerprint)s, %(run)s, now, now + %(lease)s * interval '1 second',
       now + %(kept)s * interval '1 second', false
FROM (SELECT statement_timestamp() AS now) AS clock
ON CONFLICT (id) DO UPDATE
SET fingerprint = excluded.fingerprint, run = excluded.run, leased_until = excluded.leased_until,
    expires_at = excluded.expires_at, released = false, status = NULL, headers = NULL, body = NULL,
    created_at = CASE WHEN r.expires_at > excluded.created_at
                       AND r.fingerprint = excluded.fingerprint
                      THEN r.created_at ELSE excluded.created_at END
WHERE r.expires_at <= excluded.created_at
   OR (r.status IS NULL AND r.released)
   OR (r.status IS NULL AND r.leased_until <= excluded.created_at
       AND r.fingerprint = excluded.fingerprint)
RETURNING created_at
"""

_READ = """
SELECT fingerprint, status, headers, body FROM pipeline_idempotencyrecord WHERE id = %(id)s
"""

_KEEP = """
UPDATE pipeline_idempotencyrecord SET status = %(status)s, headers = %(headers)s, body = %(body)s
WHERE id = %(id)s AND run = %(run)s
"""

_RELEASE = """
UPDATE pipeline_idempotencyrecord SET released = true WHERE id = %(id)s AND run = %(run)s
"""

_WITHOUT_WAITING_FOR_THE_DISK = "SET LOCAL synchronous_commit TO off"


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """Claim to carry out a request under a key, until its response is kept or the key released."""

    id: bytes
    fingerprint: bytes
    run: UUID
    created_at: datetime

    @property
    def row_id(self) -> UUID:
        """Return the id for the row that the request creates, the same for each attempt.

        It is a UUIDv7 with the first attempt's time, so that it sorts among the others. The rest is
        derived from the caller, the request and the key.
        """
        milliseconds = int(self.created_at.timestamp() * 1_000)
        digest = sha256(self.id + self.fingerprint).digest()
        whole = bytearray(milliseconds.to_bytes(6) + digest[:10])
        whole[6] = whole[6] & 0x0F | 0x70
        whole[8] = whole[8] & 0x3F | 0x80
        return UUID(bytes=bytes(whole))


@dataclass(frozen=True, slots=True)
class Kept:
    """The kept response."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reused:
    """The key was used for a different request."""


@dataclass(frozen=True, slots=True)
class InUse:
    """The first request is still running."""


def claim_key(record_id: bytes, fingerprint: bytes) -> IdempotencyClaim | Kept | Reused | InUse:
    """Claim a key for a request, or return the state of the earlier claim."""
    run = uuid4()
    parameters: dict[str, Any] = {
        "id": record_id,
        "fingerprint": fingerprint,
        "run": run,
        "lease": LEASE_SECONDS,
        "kept": KEPT_SECONDS,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"{_WITHOUT_WAITING_FOR_THE_DISK}; {_CLAIM}", parameters)
        cursor.nextset()
        if taken := cursor.fetchone():
            return IdempotencyClaim(record_id, fingerprint, run, taken[0])
        cursor.execute(_READ, parameters)
        row = cursor.fetchone()
    if row is None:  # it has just been removed; the client will retry
        return InUse()
    theirs, status, headers, body = row
    if bytes(theirs) != fingerprint:
        return Reused()
    return InUse() if status is None else Kept(status, json.loads(headers), bytes(body))


def keep_idempotent_answer(
    claim: IdempotencyClaim, *, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """Keep the response. Does nothing if a later attempt took over the claim."""
    _write_key(_KEEP, claim, status=status, headers=json.dumps(dict(headers)), body=body)


def release_key(claim: IdempotencyClaim) -> None:
    """Release the key for any request. The same request still creates the same row."""
    _write_key(_RELEASE, claim)


def _write_key(statement: str, claim: IdempotencyClaim, **values: Any) -> None:
    """Write to the key's row; if the connection was lost since the change, on a new one.

    Raises OperationalError or InterfaceError if the database is away. It is then written later.
    """
    parameters = values | {"id": claim.id, "run": claim.run}
    try:
        _execute(statement, parameters)
    except (OperationalError, InterfaceError):
        connection.close_if_unusable_or_obsolete()
        if connection.connection is not None:
            raise
        try:
            _execute(statement, parameters)
        except (OperationalError, InterfaceError):
            unsettled.note_statement(statement, parameters)
            raise


def _execute(statement: str, parameters: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"{_WITHOUT_WAITING_FOR_THE_DISK}; {statement}", parameters)


class UnsettledIdempotencyClaims:
    """Settlements of this process that wait for the database; a thread writes them.

    Each is dropped when its claim has expired, or if it can never be written. One that fails by
    itself, for example because its row is locked, does not hold up the others. A later attempt
    that took over the claim is not affected: the statements name the run.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        """Reset the state in a child process: thread and connection are its parent's."""
        self._guard = threading.Lock()
        self._waiting: deque[tuple[float, str, dict[str, Any]]] = deque(maxlen=MOST_UNSETTLED)
        self._thread: threading.Thread | None = None

    def note_statement(self, statement: str, parameters: dict[str, Any]) -> None:
        """Queue this to be written as soon as the database is back. Never waits for it."""
        with self._guard:
            self._waiting.append((time.monotonic() + LEASE_SECONDS, statement, parameters))
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="unsettled_claims", daemon=True)
                with suppress(RuntimeError):  # then the next note tries again
                    thread.start()
                    self._thread = thread

    def _run(self) -> None:
        """Try each in turn, then wait. Once the database does not answer, wait at once."""
        while self._take_round():
            time.sleep(RETRY_SECONDS)
        connection.close()

    def _take_round(self) -> bool:
        """Write those that can be written, and return whether any are left; if none, end."""
        with self._guard:
            tried = len(self._waiting)
        for _ in range(tried):
            with self._guard:
                until, statement, parameters = self._waiting.popleft()
            try:
                _execute(f"SET LOCAL lock_timeout TO {SETTLEMENT_LOCK_MS}; {statement}", parameters)
            except Exception as error:
                log.warning("the end of a request with a key could not be written: %s", error)
                raw = connection.connection
                has_lost_connection = raw is None or raw.closed
                connection.close()
                if (
                    isinstance(error, OperationalError | InterfaceError)
                    and time.monotonic() < until
                ):
                    with self._guard:
                        self._waiting.append((until, statement, parameters))
                if has_lost_connection:
                    break
        with self._guard:
            if not self._waiting:
                self._thread = None
            return bool(self._waiting)


unsettled = UnsettledIdempotencyClaims()
os.register_at_fork(after_in_child=unsettled._reset)
