"""Cron expressions: at which times of a zone's clocks something is to be done."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from tasks.errors import BadSchedule

_RANDOM = re.compile(r"(?i)(?<![a-z])[hr](?![a-z])")
"""The library's letters for times of its own choice: another one at each look."""


@dataclass(frozen=True)
class Times:
    """The times of a cron expression in a zone. Raises BadSchedule when one cannot be read."""

    cron: str
    zone: str

    def __post_init__(self) -> None:
        is_known = len(self.cron.split()) == 5 and not _RANDOM.search(self.cron)
        if not is_known or not croniter.is_valid(self.cron):
            raise BadSchedule(f"{self.cron!r} is no cron expression of five fields")
        try:
            ZoneInfo(self.zone)
        except Exception:
            raise BadSchedule(f"{self.zone!r} is no time zone") from None
        self.after(datetime(2024, 1, 1, tzinfo=UTC))

    def after(self, moment: datetime) -> datetime:
        """The first time after a moment, in UTC.

        What lies in the hour that a change to summer time leaves out runs right after it; what
        names an hour that comes twice runs in the first.
        """
        try:
            times = croniter(self.cron, moment.astimezone(ZoneInfo(self.zone)))
            found = times.get_next(datetime)
            while self._names_hours and _is_second_of_two(found):
                found = times.get_next(datetime)
        except (CroniterError, OverflowError) as error:
            raise BadSchedule(f"{self.cron!r} has no next time: {error}") from None
        return found.astimezone(UTC)

    @property
    def _names_hours(self) -> bool:
        return not self.cron.split()[1].startswith("*")


def _is_second_of_two(time: datetime) -> bool:
    """Whether the clocks showed this time an hour ago as well."""
    return time.replace(fold=0).utcoffset() != time.replace(fold=1).utcoffset() and (
        time.utcoffset() == time.replace(fold=1).utcoffset()
    )
