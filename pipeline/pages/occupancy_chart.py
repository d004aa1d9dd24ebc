"""Chart of a job's seats and waitlist over time, for its figures and its board."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from pipeline.figures.series import Point
from pipeline.pages.charts import Chart, count_ticks, stepped_line, time_ticks
from pipeline.wording.english import count, people, plural


def draw(
    points: Sequence[Point],
    start: datetime,
    end: datetime,
    zone: tzinfo,
    *,
    as_of: str = "At the end",
) -> Chart:
    """Draw seats taken, seats in total and people waiting over time.

    `as_of` begins the sentence on the last state.
    """
    last = points[-1]
    highest = max(max(p.held, p.waiting, p.capacity) for p in points)
    top, y = count_ticks(highest)
    whole = max((end - start).total_seconds(), 1)
    times = [(p.at - start).total_seconds() / whole for p in points] + [1.0]

    def job_occupancy_chart_line(name: str) -> list[tuple[float, float]]:
        values = [getattr(p, name) / top for p in points]
        return list(zip(times, [*values, values[-1]], strict=True))

    return Chart(
        ident="occupancy",
        title="Seats and waitlist over time",
        description=(
            f"{as_of}, {last.held:,} of {count(last.capacity, 'seat')}"
            f" {plural(last.capacity, 'is', 'are')} taken and {people(last.waiting)}"
            f" {plural(last.waiting, 'is', 'are')} waiting."
        ),
        x=time_ticks(start, end, zone),
        y=y,
        curves=[
            stepped_line("held", "Seats taken", job_occupancy_chart_line("held"), area=True),
            stepped_line(
                "capacity", "Seats in total", job_occupancy_chart_line("capacity"), area=False
            ),
            stepped_line(
                "waiting", "People waiting", job_occupancy_chart_line("waiting"), area=False
            ),
        ],
    )
