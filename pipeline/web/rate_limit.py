"""Rate limits, counted across all processes by the database's clock.

A rate refills evenly (the generic cell rate algorithm): `limit` calls at once, and one more every
`seconds / limit`. One row per subject is enough, and there is no moment at which twice the limit
gets through.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.conf import settings

from tasks.sql.prepared import PreparedStatement

# Take some calls, and return the seconds until all are available again; no row if too few are left.
#
# Of concurrent statements, an earlier one may have waited for a later one, but the remainder is
# right at the time of its result.
#
# The table has no write-ahead log, so the commit does not wait for the disk. Every API call runs
# this, so it is prepared, which saves a third of its time.
_COUNT = PreparedStatement(
    """
INSERT INTO pipeline_throttle AS t (id, empty_at)
VALUES (%(id)s, statement_timestamp() + %(step)s::float8 * interval '1 second')
ON CONFLICT (id) DO UPDATE
SET empty_at = greatest(t.empty_at, statement_timestamp()) + %(step)s::float8 * interval '1 second'
WHERE greatest(t.empty_at, statement_timestamp()) - statement_timestamp()
      <= (%(seconds)s::float8 - %(step)s::float8 + 0.000001) * interval '1 second'
RETURNING extract(epoch FROM empty_at - clock_timestamp())::float8
"""
)

_LOOK = PreparedStatement(
    """
SELECT extract(epoch FROM empty_at - clock_timestamp())::float8
FROM pipeline_throttle WHERE id = %(id)s
"""
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of calls per number of seconds."""

    limit: int
    seconds: int

    @property
    def step_seconds(self) -> float:
        """Return the seconds after which one more call is allowed."""
        return self.seconds / self.limit


@dataclass(frozen=True, slots=True)
class Tally:
    """Remainder of a rate after a call was counted or refused."""

    allowed: bool
    remaining: int
    reset_seconds: int  # until the whole rate is available again
    wait_seconds: int  # until one more call is allowed; 0 if it is now


@dataclass(frozen=True, slots=True)
class CountedRate:
    """A named rate against which a call was counted."""

    name: str
    rate: Rate
    tally: Tally


def count_named(name: str, subject: str) -> CountedRate | None:
    """Count a call against a rate of settings.THROTTLE_RATES. Returns None if the rate is off.

    The API and the pages share these counts.
    """
    given = settings.THROTTLE_RATES[name]
    if given is None:
        return None
    rate = Rate(*given)
    return CountedRate(name, rate, count(name, subject, rate))


# How many clients' rates a network has that may have as many clients as it likes.
CLIENTS_OF_SITE = 10


def count_client(name: str, client: str, *, site: str) -> CountedRate | None:
    """Count a call of a client against a named rate, and of its site against ten times as many.

    `site` is the client itself where addresses are scarce. Returns the client's count, or the
    site's if that is used up. None if the rate is off.
    """
    counted = count_named(name, client)
    if counted is None or site == client or not counted.tally.allowed:
        return counted
    wide = Rate(counted.rate.limit * CLIENTS_OF_SITE, counted.rate.seconds)
    tally = count(f"{name} of a site", site, wide)
    return counted if tally.allowed else CountedRate(name, wide, tally)


def count(name: str, subject: str, rate: Rate, cost: int = 1) -> Tally:
    """Count a call of a subject against a named rate. A refused call does not count.

    `cost`: the number of calls it counts as, at most the limit. All are taken or none.
    """
    row: dict[str, Any] = {
        "id": sha256(f"{name}\n{subject}".encode()).digest(),
        "step": rate.step_seconds * cost,
        "seconds": float(rate.seconds),
    }
    if cost > rate.limit:
        return Tally(
            allowed=False, remaining=0, reset_seconds=rate.seconds, wait_seconds=rate.seconds
        )
    if taken := _COUNT.first(**row):
        return _tally(rate, taken[0], cost, allowed=True)
    left = _LOOK.first(id=row["id"])
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


# Rate limit of one process, in its memory, for requests that are too many for a database row.


MOST_SUBJECTS = 10_000


class RateUsedUp(Exception):
    """The subject has used up its rate; one more call is allowed within moments."""


class ProcessRate:
    """Rate that refills evenly, as in `rate_limit`, with the subjects that used it last."""

    def __init__(self, given: tuple[int, int] | None) -> None:
        self._rate = Rate(*given) if given else None
        self._empty_at: OrderedDict[str, float] = OrderedDict()

    def count(self, subject: str, now: float) -> None:
        """Count a call at a time of a clock that only goes forward. Raises RateUsedUp."""
        if self._rate is None:
            return
        empty_at = max(self._empty_at.get(subject, now), now) + self._rate.step_seconds
        if empty_at - now > self._rate.seconds + 1e-6:
            raise RateUsedUp
        self._empty_at[subject] = empty_at
        self._empty_at.move_to_end(subject)
        if len(self._empty_at) > MOST_SUBJECTS:
            self._empty_at.popitem(last=False)
