"""Counting what somebody does against a rate, for all processes together, by the database's clock.

A rate refills evenly (the generic cell rate algorithm): `limit` at once, and one more with every
`seconds / limit` that pass. So one row tells all, and no moment lets twice the limit through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256

import psycopg
from django.db import connection

_COUNT = """
INSERT INTO pipeline_throttle AS t (id, empty_at)
VALUES (%(id)s, statement_timestamp() + %(step)s::float8 * interval '1 second')
ON CONFLICT (id) DO UPDATE
SET empty_at = greatest(t.empty_at, statement_timestamp()) + %(step)s::float8 * interval '1 second'
WHERE greatest(t.empty_at, statement_timestamp()) - statement_timestamp()
      <= (%(seconds)s::float8 - %(step)s::float8 + 0.000001) * interval '1 second'
RETURNING extract(epoch FROM empty_at - clock_timestamp())::float8
"""
"""Takes some, and says in how many seconds all are back; no row if too few are left.

Of several at once, one that was sent earlier may have waited for one that was sent later; seen from
the moment of its answer, what is left is right all the same.

The table has no write-ahead log, so that the commit waits for no disk. Every call of the API runs
this, so it is prepared: that takes a third off its time.
"""

_LOOK = """
SELECT extract(epoch FROM empty_at - clock_timestamp())::float8
FROM pipeline_throttle WHERE id = %(id)s
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in so many seconds."""

    limit: int
    seconds: int

    @property
    def step_seconds(self) -> float:
        """How long it takes until one more is allowed."""
        return self.seconds / self.limit


@dataclass(frozen=True, slots=True)
class Tally:
    """What is left of a rate after one more was counted, or refused."""

    allowed: bool
    remaining: int
    reset_seconds: int
    """Until all of the rate is there again."""
    wait_seconds: int
    """Until one more is allowed; 0 if it is now."""


def count(name: str, subject: str, rate: Rate, cost: int = 1) -> Tally:
    """Count one against the rate of that name for that subject; what is refused does not count.

    `cost`: as how many it counts. All of them are taken, or none; more than the limit never are.
    """
    row = {
        "id": sha256(f"{name}\n{subject}".encode()).digest(),
        "step": rate.step_seconds * cost,
        "seconds": float(rate.seconds),
    }
    if cost > rate.limit:
        return Tally(
            allowed=False, remaining=0, reset_seconds=rate.seconds, wait_seconds=rate.seconds
        )
    with connection.cursor() as cursor, connection.wrap_database_errors:
        session = psycopg.Cursor(cursor.connection)
        taken = session.execute(_COUNT, row).fetchone()
        if taken:
            return _tally(rate, taken[0], cost, allowed=True)
        left = session.execute(_LOOK, row).fetchone()
        return _tally(rate, left[0] if left else 0.0, cost, allowed=False)


def _tally(rate: Rate, used_seconds: float, cost: int, *, allowed: bool) -> Tally:
    free_seconds = rate.seconds - used_seconds
    remaining = math.floor(free_seconds / rate.step_seconds + 1e-6)
    wait = rate.step_seconds * (1 if allowed else cost) - free_seconds
    return Tally(
        allowed=allowed,
        remaining=min(rate.limit - cost, max(0, remaining)) if allowed else 0,
        reset_seconds=max(1, math.ceil(used_seconds)),
        wait_seconds=0 if allowed and remaining else max(1, math.ceil(wait)),
    )
