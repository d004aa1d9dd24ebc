"""Quiet hours of a job, during which the time to confirm a seat does not run. Pure.

A moment is quiet if it falls in the quiet hours by the person's local time. A night in which the
clocks change counts with its real length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Protocol
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

# The least time in which the time to confirm runs on each day outside the weekend.
LEAST_RUNNING_HOURS = 4
_DAY_MINUTES = 1_440
_CLOCK_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_SATURDAY = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Rest(Protocol):
    """Hours of the week that do not count; `begins` and `ends` are where that may change."""

    @property
    def begins(self) -> int | None: ...
    @property
    def ends(self) -> int | None: ...
    @property
    def zone(self) -> str: ...
    def __hash__(self) -> int: ...
    def includes(self, wall: datetime) -> bool:
        """Tell whether a time on the wall does not count."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Quiet hours as a person in a time zone has them.

    They last from `begins` to `ends`, in minutes of the day, across midnight if they end earlier
    than they begin; both are None if only weekends are quiet.
    """

    begins: int | None
    ends: int | None
    weekends: bool
    zone: str

    def includes(self, wall: datetime) -> bool:
        """Tell whether a time on the wall is in the quiet hours."""
        if self.weekends and wall.weekday() >= _SATURDAY:
            return True
        if self.begins is None or self.ends is None:
            return False
        minute = wall.hour * 60 + wall.minute
        if self.begins < self.ends:
            return self.begins <= minute < self.ends
        return minute >= self.begins or minute < self.ends


def minutes_since_midnight(text: str) -> int:
    """Return the minutes since midnight of a time like 22:00. Raises ValueError."""
    if not _CLOCK_TIME.fullmatch(text):
        raise ValueError(f"{text!r} is not a time of day like 22:00")
    return int(text[:2]) * 60 + int(text[3:])


def usable_minutes(begins: int, ends: int) -> int:
    """Return how many minutes of a usual day are not quiet."""
    return _DAY_MINUTES - (ends - begins) % _DAY_MINUTES if begins != ends else 0


def compute_deadline(start: datetime, window: timedelta, quiet: Rest | None) -> datetime:
    """Return the moment at which `window` has run since `start`, in UTC.

    A window of zero returns the first moment from `start` on that is not quiet.
    """
    return compute_utc_deadline(start.astimezone(UTC), window, quiet)


def counted_time(start: datetime, end: datetime, quiet: Rest | None) -> timedelta:
    """Return how long the time to confirm ran between two moments."""
    return counted_utc_time(start.astimezone(UTC), end.astimezone(UTC), quiet)


# Python adds to and compares times of one other zone as a clock on the wall shows them: an hour
# wrong when the clocks change. So the cached functions have times in UTC alone.


@lru_cache(maxsize=4_096)
def compute_utc_deadline(start: datetime, window: timedelta, quiet: Rest | None) -> datetime:
    """Return the moment at which `window` has run; cached, for many offers at once."""
    if quiet is None:
        return start + window
    left, spans = window, _counted_spans(start, quiet)
    begin, end = next(spans)
    while left > end - begin:
        left -= end - begin
        begin, end = next(spans)
    return begin + left


@lru_cache(maxsize=4_096)
def counted_utc_time(start: datetime, end: datetime, quiet: Rest | None) -> timedelta:
    """Return how long the time to confirm ran between two moments; cached, as deadlines are."""
    if quiet is None or end <= start:
        return max(end - start, timedelta(0))
    spans = takewhile(lambda span: span[0] < end, _counted_spans(start, quiet))
    return sum((min(end, span_end) - begin for begin, span_end in spans), timedelta(0))


def _counted_spans(start: datetime, quiet: Rest) -> Iterator[tuple[datetime, datetime]]:
    """Yield the spans from `start` on that are not quiet, in UTC, without end."""
    zone = ZoneInfo(quiet.zone)
    marks = [0, *(mark for mark in (quiet.begins, quiet.ends) if mark is not None)]
    begin = start
    while True:
        local = begin.astimezone(zone)
        wall, offset = local.replace(tzinfo=None), local.utcoffset()
        midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
        nexts = [midnight + timedelta(minutes=mark) for mark in (*marks, _DAY_MINUTES)]
        end = begin + (min(each for each in nexts if each > wall) - wall)
        if end.astimezone(zone).utcoffset() != offset:
            # The clocks change meanwhile: the span ends at that second, and is looked at anew.
            low, high = (begin - _EPOCH) // _SECOND, -((_EPOCH - end) // _SECOND)
            while high - low > 1:
                middle = (low + high) // 2
                at = _EPOCH + timedelta(seconds=middle)
                if at.astimezone(zone).utcoffset() == offset:
                    low = middle
                else:
                    high = middle
            end = min(end, _EPOCH + timedelta(seconds=high))
        if not quiet.includes(wall):
            yield begin, end
        begin = end


def quiet_hours_refusal(begins: str | None, ends: str | None) -> str:
    """Say why quiet hours cannot be from one time of the day to another; empty if they can."""
    if begins is None and ends is None:
        return ""
    if begins is None or ends is None:
        return _("Give both the beginning and the end of the quiet hours, or neither.")
    try:
        running = usable_minutes(minutes_since_midnight(begins), minutes_since_midnight(ends))
    except ValueError:
        return _("Give times of the day like 22:00.")
    if running < LEAST_RUNNING_HOURS * 60:
        why = _("Leave at least %(hours)s hours of each day outside the quiet hours.")
        return why % {"hours": LEAST_RUNNING_HOURS}
    return ""
