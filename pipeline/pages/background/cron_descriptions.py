"""Cron expressions in words, and the usual rhythms as cron expressions. Pure.

Only the shapes that people mostly write are put into words; of any other the next runs tell more
than a sentence would.
"""

from __future__ import annotations

import re
from datetime import time

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""By the number of the day in a cron expression."""

RHYTHMS = {
    "hourly": "Every hour",
    "daily": "Every day",
    "workdays": "Monday to Friday",
    "weekly": "Every week, on one day",
    "monthly": "Every month, on the 1st",
    "cron": "At other times: five fields of cron, for experts",
}
"""The rhythms that a form offers."""

_WORKDAYS = "1-5"
_LAST_HOUR, _LAST_MINUTE = 23, 59


def cron_of(rhythm: str, at: time, day: int) -> str:
    """The five fields of a rhythm but for `cron`; an hourly one keeps only the minute of `at`."""
    hour = "*" if rhythm == "hourly" else str(at.hour)
    date = "1" if rhythm == "monthly" else "*"
    days = {"workdays": _WORKDAYS, "weekly": str(day)}.get(rhythm, "*")
    return f"{at.minute} {hour} {date} * {days}"


def rhythm_of(cron: str) -> tuple[str, time, int] | None:
    """The rhythm, the time and the day that `cron_of` makes this expression of; None if none."""
    fields = cron.split()
    if len(fields) != 5 or not fields[0].isdigit() or int(fields[0]) > _LAST_MINUTE:
        return None
    hour = "0" if fields[1] == "*" else fields[1]
    day = int(fields[4]) if re.fullmatch("[0-6]", fields[4]) else 1
    if not hour.isdigit() or int(hour) > _LAST_HOUR:
        return None
    at = time(int(hour), int(fields[0]))
    for rhythm in RHYTHMS:
        if rhythm != "cron" and cron_of(rhythm, at, day).split() == fields:
            return rhythm, at, day
    return None


def in_words(cron: str) -> str:
    """When a schedule runs: Every Monday at 08:00. Empty for what is not put into words."""
    if found := rhythm_of(cron):
        rhythm, at, day = found
        return _of_rhythm(rhythm, f"{at:%H:%M}", DAYS[day])
    if cron.split() == ["*"] * 5:
        return "Every minute"
    step = re.fullmatch(r"\*/(\d{1,2}) \* \* \* \*", " ".join(cron.split()))
    if step and int(step[1]) and 60 % int(step[1]) == 0:
        return "Every minute" if step[1] == "1" else f"Every {int(step[1])} minutes"
    return ""


def _of_rhythm(rhythm: str, at: str, day: str) -> str:
    match rhythm:
        case "hourly":
            return f"Every hour, {int(at[3:])} minutes past" if at[3:] != "00" else "Every hour"
        case "daily":
            return f"Every day at {at}"
        case "workdays":
            return f"Monday to Friday at {at}"
        case "weekly":
            return f"Every {day} at {at}"
    return f"On the 1st of every month at {at}"
