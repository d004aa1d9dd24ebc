"""Charts of a weekly report, built from its figures. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.pages.charts import Chart, ChartBar, ChartTick, chart_ticks_of_count
from pipeline.pages.figures.job_charts import JobSeatTimePart, job_seat_time_chart
from pipeline.pages.occupancy_chart import job_occupancy_chart
from pipeline.stats.job_series import Point, SeatTime
from pipeline.stats.job_week import DAYS, Week

# Classes and labels of a day's bars, in the order of the day's numbers.
DAY_BARS = {
    "applied": "Applied",
    "offered": "Offered",
    "held": "Confirmed",
    "miss": "Missed",
}
GROUP_SHARE = 0.72  # share of a day's place that its bars fill


def week_day_names(week: Week) -> list[str]:
    """Return short names of a week's days: Mon 9 Nov."""
    return [f"{day:%a} {day.day} {day:%b}" for day in week.days[:DAYS]]


def week_days_chart(figures: dict[str, Any], week: Week) -> Chart | None:
    """Draw four counts per day, or None if all are zero."""
    highest = max(max(day) for day in figures["days"])
    if not highest:
        return None
    top, y = chart_ticks_of_count(highest)
    place = 1 / DAYS
    wide = place * GROUP_SHARE / len(DAY_BARS)
    bars = []
    for number, (day, name) in enumerate(zip(figures["days"], week_day_names(week), strict=True)):
        start = number * place + place * (1 - GROUP_SHARE) / 2
        for index, ((kind, words), count) in enumerate(zip(DAY_BARS.items(), day, strict=True)):
            label = f"{name}, {words}: {count:,}"
            bars.append(ChartBar(start + index * wide, wide * 0.88, count / top, label, kind))
    return Chart(
        ident="days",
        title="Day by day",
        description="Applications, offers, confirmations and missed deadlines on each day.",
        x=[
            ChartTick((number + 0.5) / DAYS, f"{day:%a} {day.day}", wide_only=number % 2 == 1)
            for number, day in enumerate(week.days[:DAYS])
        ],
        y=y,
        bars=bars,
    )


def week_occupancy_chart(figures: dict[str, Any], week: Week) -> Chart:
    """Draw seats and waitlist over the week."""
    points = [Point(datetime.fromisoformat(at), *row) for at, *row in figures["points"]]
    return job_occupancy_chart(points, week.start, week.end, ZoneInfo(week.zone))


def week_seat_time_chart(
    figures: dict[str, Any],
) -> tuple[list[JobSeatTimePart], list[ChartBar]]:
    """Split the week's seat time into parts, and build the bar that shows them."""
    return job_seat_time_chart(SeatTime(**figures["seat_seconds"]))
