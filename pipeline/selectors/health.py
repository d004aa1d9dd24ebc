"""Checks that the site has everything it needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from pipeline.models import Heartbeat
from tasks.models import TaskWorker

# How old a worker's last completed cycle may be.
FRESH = timedelta(seconds=30)


def health_of_migrations() -> bool:
    """Return True if the database has every migration of this code."""
    return not missing_migrations_for_health()


def missing_migrations_for_health() -> list[str]:
    """Return the migrations of this code that the database does not have, as app.name."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    return sorted(f"{app}.{name}" for app, name in _migrations_for_health() - applied)


def unknown_migrations_for_health() -> list[str]:
    """Return the migrations that only a newer release knows, as app.name.

    Squashed migrations and apps that this release has dropped do not count.
    """
    known, applied = _migrations_for_health(), MigrationRecorder(connection).applied_migrations()
    newest: dict[str, str] = {}
    for app, name in sorted(known):
        newest[app] = name
    return sorted(
        f"{app}.{name}"
        for app, name in applied.keys() - known
        if app in newest and name > newest[app]
    )


@dataclass(frozen=True, slots=True)
class LastSeen:
    """Last sign of life of a kind of worker; None if there is none or it is too old to be kept."""

    at: datetime | None
    is_alive: bool


def health_of_decay_worker() -> LastSeen:
    """Return the decay worker's last cycle, in one query. Alive means at most 30 s ago."""
    return _last_seen_for_health(Heartbeat.objects.filter(worker="decay"), "completed_at")


def health_of_task_worker() -> LastSeen:
    """Return any task worker's last sign of life, in one query. Alive means at most 30 s ago."""
    return _last_seen_for_health(TaskWorker.objects.all(), "beat_at")


def _last_seen_for_health(rows: QuerySet[Any], field: str) -> LastSeen:
    found = rows.annotate(is_fresh=Q(**{f"{field}__gt": Now() - FRESH})).order_by(f"-{field}")
    at, is_fresh = found.values_list(field, "is_fresh").first() or (None, False)
    return LastSeen(at, is_fresh)


@cache
def _migrations_for_health() -> frozenset[tuple[str, str]]:
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations)
