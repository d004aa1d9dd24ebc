"""Clock of a review: from taking a seat to the decision, in the company's working time. Pure.

A day of a target is a working day, an hour of it an hour in which the company works: a target of
three days that begins on Friday at noon ends on Wednesday at noon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from jobs.quiet_hours import compute_deadline, counted_time, minutes_since_midnight
from tasks import time_zones

DAY_SECONDS = 86_400
TARGET_SECONDS = (3_600, 60 * DAY_SECONDS)  # the shortest and the longest target
LEAST_MINUTES = 60  # of a working day
WEEKDAYS = range(7)  # 0 is Monday
# Working time is counted back to here; an older review is shown as this old.
LONGEST_COUNTED = timedelta(days=400)
_INSTANT = timedelta(microseconds=1)


class BadWorkingHours(ValueError):
    """The working hours cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """Days and hours in which a company works, in minutes of the day in its time zone."""

    days: frozenset[int]
    begins: int
    ends: int
    zone: str

    @classmethod
    def checked(cls, days: frozenset[int], begins: str, ends: str, zone: str) -> WorkingHours:
        """Return the hours from times of the day like 09:00. Raises BadWorkingHours."""
        if not days or not days <= set(WEEKDAYS):
            raise BadWorkingHours(_("Choose at least one day."))
        try:
            hours = cls(days, minutes_since_midnight(begins), minutes_since_midnight(ends), zone)
        except ValueError:
            raise BadWorkingHours(_("Give times of the day like 09:00.")) from None
        if hours.ends - hours.begins < LEAST_MINUTES:
            raise BadWorkingHours(_("End at least an hour after the beginning, on the same day."))
        if not time_zones.is_known(zone):
            raise BadWorkingHours(_("Choose a time zone."))
        return hours

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> WorkingHours | None:
        """Return the hours that a company's row holds; None if every hour counts."""
        if not stored:
            return None
        return cls(frozenset(stored["days"]), stored["begins"], stored["ends"], stored["zone"])

    def stored(self) -> dict[str, Any]:
        """Return the hours as a company's row holds them."""
        return {
            "days": sorted(self.days),
            "begins": self.begins,
            "ends": self.ends,
            "zone": self.zone,
        }

    def includes(self, wall: datetime) -> bool:
        """Tell whether the company rests at a time on the wall, as quiet hours do."""
        minute = wall.hour * 60 + wall.minute
        return wall.weekday() not in self.days or not self.begins <= minute < self.ends

    @property
    def day(self) -> timedelta:
        """Return the length of a working day."""
        return timedelta(minutes=self.ends - self.begins)


@dataclass(frozen=True, slots=True)
class ReviewClock:
    """Target of a job's reviews, and the hours in which the time to it runs."""

    target_seconds: int
    hours: WorkingHours | None = None

    @classmethod
    def read(
        cls, target_seconds: int | None, hours: Mapping[str, Any] | None
    ) -> ReviewClock | None:
        """Return the clock with a job's target and its company's hours, as they are stored."""
        return cls(target_seconds, WorkingHours.read(hours)) if target_seconds else None

    def due_at(self, since: datetime, *, times: int = 1) -> datetime:
        """Return when a review that began at `since` has taken its target, or several times it."""
        return compute_deadline(since, self._running(times), self.hours)

    def age_seconds(self, since: datetime, now: datetime) -> int:
        """Return how long a review has taken, in the days and hours of the target."""
        counted = self._counted(since, now)
        if self.hours is None:
            return int(counted.total_seconds())
        days, rest = divmod(counted, self.hours.day)
        return days * DAY_SECONDS + int(rest.total_seconds())

    def used_share(self, since: datetime, now: datetime) -> float:
        """Return how much of the target a review has taken; above 1 if it is overdue."""
        return self._counted(since, now) / self._running(1)

    def _counted(self, since: datetime, now: datetime) -> timedelta:
        if self.hours is None:
            return max(timedelta(0), now - since)
        return counted_time(max(since, now - LONGEST_COUNTED), now, self.hours)

    def cutoff(self, now: datetime, *, times: int = 1) -> datetime:
        """Return the last moment since which a review has taken its target, or several times it."""
        running = self._running(times)
        if self.hours is None:
            return now - running
        weeks = running // (self.hours.day * len(self.hours.days)) + 2
        start = now - timedelta(weeks=weeks)
        left = counted_time(start, now, self.hours) - running
        return compute_deadline(start, left + _INSTANT, self.hours) - _INSTANT

    def _running(self, times: int) -> timedelta:
        seconds = self.target_seconds * times
        if self.hours is None:
            return timedelta(seconds=seconds)
        days, rest = divmod(seconds, DAY_SECONDS)
        return days * self.hours.day + min(timedelta(seconds=rest), self.hours.day)
