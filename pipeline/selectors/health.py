"""Checks that the site has everything it needs."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from pipeline.models import Heartbeat
from tasks.models import TaskWorker

# How long ago a worker may have completed its last cycle.
FRESH = timedelta(seconds=30)


def migrations_are_applied() -> bool:
    """Return True if the database has every migration of this code."""
    return _known_migrations() <= MigrationRecorder(connection).applied_migrations().keys()


def decay_worker_is_alive() -> bool:
    """Return True if the decay worker was seen in the last 30 seconds of the database's clock."""
    fresh = Heartbeat.objects.filter(completed_at__gt=Now() - FRESH)
    return fresh.filter(worker="decay").exists()


def task_worker_is_alive() -> bool:
    """Return True if a task worker was seen in the last 30 seconds of the database's clock."""
    return TaskWorker.objects.filter(beat_at__gt=Now() - FRESH).exists()


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations)
