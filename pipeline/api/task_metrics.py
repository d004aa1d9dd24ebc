"""Prometheus gauges of background work. Labels are types and priorities, never ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from tasks.stats import (
    run_totals,
    site_dead_depth,
    site_depth,
    site_enqueued,
    site_failing_seconds,
    site_oldest_age_seconds,
    site_open_breakers,
    site_open_owner_breakers,
    site_running,
    site_workers_alive,
)

# Enqueued tasks are counted over this window only. The ends of runs are counted without a limit.
WINDOW_SECONDS = 300.0


def task_metric_families() -> Iterator[Metric]:
    """Yield the numbers of `tasks.stats`, one statement each."""
    depth: dict[tuple[str, ...], float] = {
        (name, str(priority)): count for (name, priority), count in site_depth().items()
    }
    yield _task_metric_gauge("tasks_pending", "Waiting tasks.", ["type", "priority"], depth)
    yield _task_metric_gauge(
        "tasks_oldest_pending_seconds",
        "How long the oldest due task has been waiting.",
        ["priority"],
        {(str(priority),): age for priority, age in site_oldest_age_seconds().items()},
    )
    yield _task_metric_gauge(
        "tasks_failing_seconds",
        "How long ago an unfinished task failed for the first time, at the most.",
        ["type"],
        _metric_by_task_type(site_failing_seconds()),
    )
    yield _task_metric_gauge(
        "tasks_running", "Tasks claimed by workers.", ["type"], _metric_by_task_type(site_running())
    )
    yield _task_metric_gauge(
        "tasks_dead",
        "Dead letters that wait for a decision.",
        ["type"],
        _metric_by_task_type(site_dead_depth()),
    )
    yield _task_metric_gauge(
        "tasks_breaker_open",
        "Types whose breaker is open for everyone because too many runs fail.",
        ["type"],
        {(name,): 1 for name in site_open_breakers()},
    )
    yield _task_metric_gauge(
        "tasks_owner_breakers_open",
        "Companies whose own breaker for a type is open because too many of their runs fail.",
        ["type"],
        _metric_by_task_type(site_open_owner_breakers()),
    )
    alive = site_workers_alive()
    yield _task_metric_gauge(
        "task_workers", "Workers seen within the last minute.", [], {(): alive}
    )
    yield from _task_run_metric_families()
    yield _task_metric_gauge(
        "tasks_enqueued_5m",
        "Tasks enqueued in the last five minutes; compare with the succeeded ones.",
        [],
        {(): site_enqueued(within_seconds=WINDOW_SECONDS)},
    )


def _task_run_metric_families() -> Iterator[Metric]:
    runs = CounterMetricFamily(
        "nextinline_task_runs",
        "Ended runs by result. Retried and dead ones are also counted as failed; expired: the "
        "lease ran out.",
        labels=["type", "result"],
    )
    seconds = HistogramMetricFamily(
        "nextinline_task_run_seconds", "Duration of runs, however they ended.", labels=["type"]
    )
    for name, of in sorted(run_totals().items()):
        for result, count in of.ends.items():
            runs.add_metric([name, result], count)
        buckets = [(floatToGoString(bound), count) for bound, count in of.at_most()]
        seconds.add_metric([name], buckets, of.seconds)
    yield runs
    yield seconds


def _metric_by_task_type(counts: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    return {(name,): count for name, count in counts.items()}


def _task_metric_gauge(
    name: str, about: str, labels: list[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    family = GaugeMetricFamily(f"nextinline_{name}", about, labels=labels)
    for of, value in values.items():
        family.add_metric(list(of), value)
    return family
