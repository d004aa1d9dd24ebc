"""Chart of a job's seats and waitlist over time, for its figures and its board."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from pipeline.figures.series import Point
from pipeline.pages.charts import Chart, chart_steps, chart_ticks_of_count, chart_ticks_of_time
from pipeline.wording.english import count, people, plural


def job_occupancy_chart(
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
    top, y = chart_ticks_of_count(highest)
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
        x=chart_ticks_of_time(start, end, zone),
        y=y,
        curves=[
            chart_steps("held", "Seats taken", job_occupancy_chart_line("held"), area=True),
            chart_steps(
                "capacity", "Seats in total", job_occupancy_chart_line("capacity"), area=False
            ),
            chart_steps(
                "waiting", "People waiting", job_occupancy_chart_line("waiting"), area=False
            ),
        ],
    )
