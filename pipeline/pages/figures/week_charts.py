"""The charts of a weekly report, from its figures. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.pages.figures import charts, job_charts
from pipeline.pages.figures.charts import Bar, Chart, Tick
from pipeline.stats.job_series import Point, SeatTime
from pipeline.stats.job_week import DAYS, Week

KINDS = {
    "applied": "Applied",
    "offered": "Offered",
    "held": "Confirmed",
    "miss": "Missed",
}
"""The classes of the bars of a day, in the order of the day's numbers, and what they say."""
GROUP_SHARE = 0.72
"""How much of a day's place its bars take."""


def day_names(week: Week) -> list[str]:
    """The days of a week: Mon 9 Nov."""
    return [f"{day:%a} {day.day} {day:%b}" for day in week.days[:DAYS]]


def days(figures: dict[str, Any], week: Week) -> Chart | None:
    """What happened on each day; None when nothing of it did."""
    highest = max(max(day) for day in figures["days"])
    if not highest:
        return None
    top, y = charts.count_ticks(highest)
    return Chart(
        ident="days",
        title="Day by day",
        description="Applications, offers, confirmations and missed deadlines on each day.",
        x=[
            Tick((number + 0.5) / DAYS, f"{day:%a} {day.day}", wide_only=number % 2 == 1)
            for number, day in enumerate(week.days[:DAYS])
        ],
        y=y,
        bars=[
            bar
            for number, (day, name) in enumerate(zip(figures["days"], day_names(week), strict=True))
            for bar in _bars_of_day(number, day, name, top)
        ],
    )


def _bars_of_day(number: int, day: list[int], name: str, top: float) -> list[Bar]:
    place = 1 / DAYS
    wide = place * GROUP_SHARE / len(KINDS)
    start = number * place + place * (1 - GROUP_SHARE) / 2
    return [
        Bar(start + index * wide, wide * 0.88, count / top, f"{name}, {words}: {count:,}", kind)
        for index, ((kind, words), count) in enumerate(zip(KINDS.items(), day, strict=True))
    ]


def occupancy(figures: dict[str, Any], week: Week) -> Chart:
    """Seats and waitlist over the week."""
    points = [Point(datetime.fromisoformat(at), *row) for at, *row in figures["points"]]
    return job_charts.occupancy(points, week.start, week.end, ZoneInfo(week.zone))


def seat_time(figures: dict[str, Any]) -> tuple[list[job_charts.Part], list[Bar]]:
    """Where the time of the seats went, in parts of all of it, and the bar that shows it."""
    return job_charts.seat_time(SeatTime(**figures["seat_seconds"]))
