"""Monitoring: health checks for load balancers, and numbers for Prometheus."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from django.db import InterfaceError, OperationalError, ProgrammingError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from pipeline.config import env
from pipeline.config.release import COMMIT, VERSION
from pipeline.database.errors import ClusterError
from pipeline.figures.job import Vitals, read_site_gauges
from pipeline.line.event_log import logged_time
from pipeline.selectors.database import DatabaseGauges, read_gauges
from pipeline.selectors.system import (
    are_migrations_applied,
    read_decay_worker_health,
    read_task_worker_health,
)
from pipeline.web.addresses import answer_proxy_probe, is_client_this_machine
from pipeline.web.requests import metrics_exposition
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


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs. Reads nothing."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 if everything needed is reachable, else 503 with what is missing and since when.

    For a worker, "since" is its last sign of life, or null if it was never seen. A probe of
    `manage.py doctor` is also told how the site sees its request.
    """
    missing: dict[str, datetime | None]
    try:
        is_migrated = are_migrations_applied()
        seen = (
            {}
            if not is_migrated
            else {
                "decay_worker": read_decay_worker_health(),
                "task_worker": read_task_worker_health(),
            }
        )
    except (OperationalError, InterfaceError, ClusterError):
        missing = {"database": _outage.begin()}
    else:
        _outage.end()
        missing = {name: last.at for name, last in seen.items() if not last.is_alive}
        if not is_migrated:
            missing = {"migrations": None}
    body: dict[str, Any] = {
        "status": "unavailable" if missing else "ok",
        "missing": list(missing),
        "since": {name: at and logged_time(at) for name, at in missing.items()},
    }
    if seen_through_proxies := answer_proxy_probe(request):
        body["seen"] = seen_through_proxies
    response = JsonResponse(body, status=503 if missing else 200)
    response._has_been_logged = True  # type: ignore[attr-defined] # by Django, as an ERROR
    return response


class _HealthOutage:
    """The time at which this process first found the database unreachable."""

    def __init__(self) -> None:
        self._since: datetime | None = None

    def begin(self) -> datetime:
        self._since = self._since or datetime.now(UTC)
        return self._since

    def end(self) -> None:
        self._since = None


_outage = _HealthOutage()


# Prometheus gauges of background work. Labels are types and priorities, never ids.


# Enqueued tasks are counted over this window only. The ends of runs are counted without a limit.
WINDOW_SECONDS = 300.0


def task_families() -> Iterator[Metric]:
    """Yield the numbers of `tasks.stats`, one statement each."""
    depth: dict[tuple[str, ...], float] = {
        (name, str(priority)): count for (name, priority), count in site_depth().items()
    }
    yield _task_gauge("tasks_pending", "Waiting tasks.", ["type", "priority"], depth)
    yield _task_gauge(
        "tasks_oldest_pending_seconds",
        "How long the oldest due task has been waiting.",
        ["priority"],
        {(str(priority),): age for priority, age in site_oldest_age_seconds().items()},
    )
    yield _task_gauge(
        "tasks_failing_seconds",
        "How long ago an unfinished task failed for the first time, at the most.",
        ["type"],
        _label_counts(site_failing_seconds()),
    )
    yield _task_gauge(
        "tasks_running", "Tasks claimed by workers.", ["type"], _label_counts(site_running())
    )
    yield _task_gauge(
        "tasks_dead",
        "Dead letters that wait for a decision.",
        ["type"],
        _label_counts(site_dead_depth()),
    )
    yield _task_gauge(
        "tasks_breaker_open",
        "Types whose breaker is open for everyone because too many runs fail.",
        ["type"],
        {(name,): 1 for name in site_open_breakers()},
    )
    yield _task_gauge(
        "tasks_owner_breakers_open",
        "Companies whose own breaker for a type is open because too many of their runs fail.",
        ["type"],
        _label_counts(site_open_owner_breakers()),
    )
    alive = site_workers_alive()
    yield _task_gauge("task_workers", "Workers seen within the last minute.", [], {(): alive})
    yield from _run_families()
    yield _task_gauge(
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


def _task_gauge(
    name: str, about: str, labels: list[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    family = GaugeMetricFamily(f"nextinline_{name}", about, labels=labels)
    for of, value in values.items():
        family.add_metric(list(of), value)
    return family


# `/metrics`: numbers for Prometheus, outside the versioned API and only for operators. Open to
# requests from this machine without a proxy, and from elsewhere with METRICS_TOKEN as the bearer
# token. Everyone else gets 404.


@never_cache
@require_safe
def expose(request: HttpRequest) -> HttpResponse:
    """Answer with counters and gauges. Raises Http404 for clients who may not see them."""
    given = request.META.get("HTTP_AUTHORIZATION", "").encode()
    wanted = f"Bearer {env.METRICS_TOKEN}".encode()
    has_token = bool(env.METRICS_TOKEN) and secrets.compare_digest(given, wanted)
    if not (has_token or is_client_this_machine(request)):
        raise Http404
    registry = CollectorRegistry()
    registry.register(_MetricsCollector())
    return HttpResponse(
        metrics_exposition() + generate_latest(registry), content_type=CONTENT_TYPE_LATEST
    )


class _MetricsCollector(Collector):
    """Collector of gauges of lines and background work, or of an unreachable database."""

    def collect(self) -> Iterable[Metric]:
        """Yield the gauges. Those of the lines take one query.

        Those that the database does not allow are missing: it may not be migrated yet.
        """
        found: list[Metric] = []
        is_reachable = True
        try:
            for read in _READERS:
                with suppress(ProgrammingError):
                    found += read()
        except (OperationalError, InterfaceError, ClusterError):
            found, is_reachable = [], False
        is_up = _gauge("database_up", "Whether the database is reachable.", is_reachable)
        build = GaugeMetricFamily(
            "nextinline_build_info",
            "Release of this server; always 1.",
            labels=["version", "commit"],
        )
        build.add_metric([VERSION, COMMIT], 1)
        return [build, is_up, *found]


def _families(vitals: Vitals) -> Iterator[Metric]:
    yield _status_counts("jobs", "Jobs.", vitals.jobs.items())
    yield _status_counts("applications", "Live applications.", vitals.applications.items())
    yield _gauge("people_waiting", "Waiting applications.", vitals.applications["WAITLIST"])
    yield _gauge(
        "seats_idle_with_eligible",
        "Free seats of open jobs with an eligible person waiting. Should be 0.",
        vitals.idle_seats_with_eligible,
    )
    yield _gauge("overdue_settlements", "Jobs that are due to be settled.", vitals.overdue_jobs)
    yield _gauge(
        "oldest_overdue_seconds",
        "How long the first of them has been due; 0 if there is none.",
        vitals.oldest_overdue_seconds,
    )
    if vitals.decay_heartbeat_seconds is not None:
        age = vitals.decay_heartbeat_seconds
        yield _gauge("decay_heartbeat_age_seconds", "When the decay worker was last seen.", age)
    yield CounterMetricFamily("nextinline_events", "Events in all logs.", value=vitals.events)


def _database_families(gauges: DatabaseGauges) -> Iterator[Metric]:
    """Yield what endangers the database. Without archive, backup or anchors, theirs are missing."""
    archive = gauges.archive
    numbers: dict[str, tuple[str, float | None]] = {
        "database_bytes": ("Size of the database.", gauges.size_bytes),
        "job_lock_held_seconds": (
            "Age of the oldest transaction that holds a lock on jobs.",
            gauges.lock_seconds(),
        ),
        "snapshot_held_seconds": (
            "Age of the oldest transaction that keeps removed rows.",
            gauges.snapshot_seconds(),
        ),
        "snapshot_held_transactions": (
            "Transactions since the oldest snapshot, of sessions, slots and prepared transactions.",
            gauges.snapshot_transactions(),
        ),
        "replication_slots_inactive": (
            "Replication slots that nobody reads.",
            sum(not slot.is_active for slot in gauges.slots),
        ),
        "replication_slot_retained_bytes": (
            "Write-ahead log that a replication slot keeps, at the most.",
            max((slot.retained_bytes for slot in gauges.slots), default=0),
        ),
        "wal_archive_failing": (
            "Whether the last file of write-ahead log could not be archived, or is late.",
            None if archive is None else archive.is_failing or archive.is_late,
        ),
        "wal_archive_age_seconds": (
            "How long ago a file of write-ahead log was archived.",
            None if archive is None else archive.age_seconds,
        ),
        "backup_age_seconds": (
            "How long ago a backup was recorded.",
            gauges.seconds_since(gauges.backup_at),
        ),
        "anchors_age_seconds": (
            "How long ago a task worker last looked for logs to anchor.",
            gauges.seconds_since(gauges.anchors_at),
        ),
    }
    for name, (about, value) in numbers.items():
        if value is not None:
            yield _gauge(name, about, value)


# Looked up at each call.
_READERS: tuple[Callable[[], Iterable[Metric]], ...] = (
    lambda: _families(read_site_gauges()),
    lambda: _database_families(read_gauges()),
    task_families,
)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"nextinline_{name}", about, value=value)


def _status_counts(name: str, about: str, counts: Iterable[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(f"nextinline_{name}", about, labels=["status"])
    for status, count in counts:
        family.add_metric([status], count)
    return family
