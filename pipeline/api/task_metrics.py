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


def families() -> Iterator[Metric]:
    """Yield the numbers of `tasks.stats`, one statement each."""
    depth: dict[tuple[str, ...], float] = {
        (name, str(priority)): count for (name, priority), count in site_depth().items()
    }
    yield _gauge("tasks_pending", "Waiting tasks.", ["type", "priority"], depth)
    yield _gauge(
        "tasks_oldest_pending_seconds",
        "How long the oldest due task has been waiting.",
        ["priority"],
        {(str(priority),): age for priority, age in site_oldest_age_seconds().items()},
    )
    yield _gauge(
        "tasks_failing_seconds",
        "How long ago an unfinished task failed for the first time, at the most.",
        ["type"],
        _label_counts(site_failing_seconds()),
    )
    yield _gauge(
        "tasks_running", "Tasks claimed by workers.", ["type"], _label_counts(site_running())
    )
    yield _gauge(
        "tasks_dead",
        "Dead letters that wait for a decision.",
        ["type"],
        _label_counts(site_dead_depth()),
    )
    yield _gauge(
        "tasks_breaker_open",
        "Types whose breaker is open for everyone because too many runs fail.",
        ["type"],
        {(name,): 1 for name in site_open_breakers()},
    )
    yield _gauge(
        "tasks_owner_breakers_open",
        "Companies whose own breaker for a type is open because too many of their runs fail.",
        ["type"],
        _label_counts(site_open_owner_breakers()),
    )
    alive = site_workers_alive()
    yield _gauge("task_workers", "Workers seen within the last minute.", [], {(): alive})
    yield from _run_families()
    yield _gauge(
        "tasks_enqueued_5m",
        "Tasks enqueued in the last five minutes; compare with the succeeded ones.",
        [],
        {(): site_enqueued(within_seconds=WINDOW_SECONDS)},
    )


def _run_families() -> Iterator[Metric]:
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


def _label_counts(counts: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    return {(name,): count for name, count in counts.items()}


def _gauge(
    name: str, about: str, labels: list[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    family = GaugeMetricFamily(f"nextinline_{name}", about, labels=labels)
    for of, value in values.items():
        family.add_metric(list(of), value)
    return family
