"""`/metrics`: numbers for Prometheus, outside the versioned API and only for operators.

Open to requests from this machine without a proxy, and from elsewhere with METRICS_TOKEN as the
bearer token. Everyone else gets 404.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from django.db import InterfaceError, OperationalError, ProgrammingError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pipeline.api import task_metrics
from pipeline.config import env
from pipeline.config.release import COMMIT, VERSION
from pipeline.database.errors import ClusterError
from pipeline.figures.job import Vitals, read_site_gauges
from pipeline.selectors.database import DatabaseGauges, read_gauges
from pipeline.web.addresses import is_client_this_machine
from pipeline.web.requests import metrics_exposition


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
    task_metrics.families,
)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"nextinline_{name}", about, value=value)


def _status_counts(name: str, about: str, counts: Iterable[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(f"nextinline_{name}", about, labels=["status"])
    for status, count in counts:
        family.add_metric([status], count)
    return family
