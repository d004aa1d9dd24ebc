"""Cron expressions in words, and the rhythms of the schedule form as cron expressions.

Describes only common shapes; for any other, the page shows the next runs. A library such as
cron-descriptor could replace only `describe_cron`, since the form also needs the reverse. It also
describes `*/7` as "Every 7 minutes" and `0 25 * * *` as "At 25:00", and neither is true.
"""

from __future__ import annotations

import re
from datetime import time

# Indexed by the number of the day in a cron expression.
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

# The choices of the form.
RHYTHMS = {
    "hourly": "Every hour",
    "daily": "Every day",
    "workdays": "Monday to Friday",
    "weekly": "Every week, on one day",
    "monthly": "Every month, on the 1st",
    "cron": "Custom (cron expression)",
}

_WORKDAYS = "1-5"
_LAST_HOUR, _LAST_MINUTE = 23, 59


def cron_of_rhythm(rhythm: str, at: time, day: int) -> str:
    """Return the five fields of a rhythm other than `cron`; hourly uses only the minute."""
    hour = "*" if rhythm == "hourly" else str(at.hour)
    date = "1" if rhythm == "monthly" else "*"
    days = {"workdays": _WORKDAYS, "weekly": str(day)}.get(rhythm, "*")
    return f"{at.minute} {hour} {date} * {days}"


def rhythm_of_cron(cron: str) -> tuple[str, time, int] | None:
    """Return the rhythm, time and day for which `cron_of_rhythm` gives this expression, or None."""
    fields = cron.split()
    if len(fields) != 5 or not fields[0].isdigit() or int(fields[0]) > _LAST_MINUTE:
        return None
    hour = "0" if fields[1] == "*" else fields[1]
    day = int(fields[4]) if re.fullmatch("[0-6]", fields[4]) else 1
    if not hour.isdigit() or int(hour) > _LAST_HOUR:
        return None
    at = time(int(hour), int(fields[0]))
    for rhythm in RHYTHMS:
        if rhythm != "cron" and cron_of_rhythm(rhythm, at, day).split() == fields:
            return rhythm, at, day
    return None


def describe_cron(cron: str) -> str:
    """Describe a schedule, like "Every Monday at 08:00"; empty for other shapes."""
    if found := rhythm_of_cron(cron):
        rhythm, at, day = found
        if rhythm == "hourly":
            return f"Every hour, {at.minute} minutes past" if at.minute else "Every hour"
        when = {
            "daily": "Every day",
            "workdays": "Monday to Friday",
            "weekly": f"Every {DAYS[day]}",
            "monthly": "On the 1st of every month",
        }
        return f"{when[rhythm]} at {at:%H:%M}"
    if cron.split() == ["*"] * 5:
        return "Every minute"
    step = re.fullmatch(r"\*/(\d{1,2}) \* \* \* \*", " ".join(cron.split()))
    if step and int(step[1]) and 60 % int(step[1]) == 0:
        return "Every minute" if step[1] == "1" else f"Every {int(step[1])} minutes"
    return ""
