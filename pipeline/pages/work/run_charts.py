"""Charts of a company's tasks of the last hour: throughput, failures and waiting time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.utils import timezone

from pipeline.pages.charts import Chart, ChartTick, build_bars, count_ticks
from pipeline.wording.english import short_duration
from tasks.stats import RecentRuns


class RunChart(NamedTuple):
    """Chart with the rows of the table behind it."""

    chart: Chart
    column: str
    rows: list[tuple[str, str]]


def draw_run_charts(runs: Sequence[RecentRuns]) -> list[RunChart]:
    """Return the three charts, or none if nothing has ended within the hour."""
    if not any(each.succeeded or each.failed for each in runs):
        return []
    waits = [round(each.waited or 0) for each in runs]
    done, failed = [each.succeeded for each in runs], [each.failed for each in runs]
    return [
        _draw(runs, "throughput", "Tasks done", done, f"{sum(done):,} in the last hour."),
        _draw(runs, "failures", "Failed tasks", failed, f"{sum(failed):,} in the last hour."),
        _draw(
            runs,
            "latency",
            "Wait before the start, in seconds",
            waits,
            f"Medians; the longest is {short_duration(max(waits))}.",
        ),
    ]


def _draw(
    runs: Sequence[RecentRuns], ident: str, title: str, numbers: list[int], says: str
) -> RunChart:
    top, y = count_ticks(max(numbers))
    times = [f"{timezone.localtime(each.start):%H:%M}" for each in runs]
    unit = "s" if ident == "latency" else "tasks"
    labels = [f"{time}: {number:,} {unit}" for time, number in zip(times, numbers, strict=True)]
    kind = "miss" if ident == "failures" else ""
    chart = Chart(
        ident=f"runs-{ident}",
        title=title,
        description=says,
        x=[ChartTick(n / len(runs), time) for n, time in enumerate(times) if n % 4 == 0],
        y=y,
        bars=build_bars(numbers, labels, top, kind=kind),
    )
    return RunChart(chart, title, [(t, f"{n:,}") for t, n in zip(times, numbers, strict=True)])
