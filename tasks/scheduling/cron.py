"""Cron expressions in a time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

from tasks import time_zones
from tasks.errors import BadSchedule

_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_DAYS = "SUN MON TUE WED THU FRI SAT".split()
# The lowest and highest value of each field, and the names allowed for its values.
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
# All hours, written as a range: like a star, it counts hours that pass, not hours on the clock.
_EVERY_HOUR = re.compile(rf"^(?:0-23|{','.join(map(str, range(24)))})(?=/|$)")
_RANGE = re.compile(r"(\w+)-(\w+)(?:/([1-9]\d*))?")


@dataclass(frozen=True)
class CronTimes:
    """Times of a cron expression in a zone. Raises BadSchedule if either is invalid."""

    cron: str
    zone: str

    def __post_init__(self) -> None:
        if len(self.cron.split()) != len(_FIELDS):
            wrong = _("%(cron)s is not a cron expression of five fields")
            raise BadSchedule(wrong % {"cron": repr(self.cron)})
        if not time_zones.is_known(self.zone):
            raise BadSchedule(_("%(zone)s is not a time zone") % {"zone": repr(self.zone)})
        self.after(datetime(2024, 1, 1, tzinfo=UTC))

    def after(self, moment: datetime) -> datetime:
        """Return the first time after a moment, in UTC.

        A fixed hour that the change to summer time skips runs right after the gap. A fixed hour
        that occurs twice runs only the first time.
        """
        zone = ZoneInfo(self.zone)
        start = moment.astimezone(zone)
        fields = [
            _parse_field(*each) for each in zip(self.cron.upper().split(), _FIELDS, strict=True)
        ]
        fields[1] = _EVERY_HOUR.sub("*", fields[1])
        names_hours = not fields[1].startswith("*")
        if names_hours:
            start = start.replace(tzinfo=None)
        try:
            times = CronSim(" ".join(fields), start)
            while True:  # it ends with an error
                time = next(times)
                found = _utc_time(time, zone) if names_hours else time.astimezone(UTC)
                if found > moment:
                    return found
        except (CronSimError, OverflowError):
            pass
        wrong = _("%(cron)s is not a cron expression with a next time")
        raise BadSchedule(wrong % {"cron": repr(self.cron)})


def _parse_field(field: str, bounds: tuple[int, int, dict[str, int]]) -> str:
    """Rewrite syntax that the library would read differently from existing schedules.

    A range may wrap around the end of its field (22-6, FRI-MON). A step from a star (*/2) restricts
    a field like any other value, so that a day of the month and a weekday still mean either one.
    """
    low, high, names = bounds
    terms: list[str] = []
    for term in field.split(","):
        match = _RANGE.fullmatch(term)
        ends = [str(names.get(end, end)) for end in match.groups()[:2]] if match else []
        if match and all(map(str.isdecimal, ends)) and high >= int(ends[0]) > int(ends[1]):
            values = [*range(int(ends[0]), high + 1), *range(low, int(ends[1]) + 1)]
            terms += map(str, values[:: int(match[3] or 1)])
        elif term.startswith("*/") and bounds in (_FIELDS[2], _FIELDS[4]):
            terms.append(f"{low}-{high}{term[1:]}")
        else:
            terms.append(term)
    return ",".join(terms)


def _utc_time(time: datetime, zone: ZoneInfo) -> datetime:
    """Convert a local time to UTC; a time inside a gap becomes the end of the gap."""
    while (found := time.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(
        tzinfo=None, fold=0
    ) != time:
        time += timedelta(minutes=1)
    return found
