"""Rate limit of one process, in its memory, for requests that are too many for a database row."""

from __future__ import annotations

from collections import OrderedDict

from pipeline.limits.rate_limit import Rate

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
