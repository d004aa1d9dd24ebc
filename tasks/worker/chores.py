"""Periodic chores of a worker, each at its own interval: reaping, parking, schedules, retention."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import Error, connection

from tasks.failure_log import failures
from tasks.registry import chores
from tasks.scheduling import schedules
from tasks.sql.claim import PARKED_AT_ONCE
from tasks.stats import fold_totals
from tasks.worker.attempt import Attempt
from tasks.worker.task_store import TaskStore

log = logging.getLogger(__name__)


# How often to check whether paused tasks are in the claim's way.
PARK_SECONDS = 3.0
AFTER_FAILURE_SECONDS = 1.0


class Chores:
    """Chores, each with the monotonic time at which it is due."""

    def __init__(self, store: TaskStore, call_hooks: Callable[[list[Attempt]], None]) -> None:
        self._store = store
        self._call_hooks = call_hooks
        self._reap_seconds = min(3.0, store.options.lease_seconds / 4)
        own = (self._reap, self._park, schedules.enqueue_due, remove_old)
        self._due: dict[Callable[[], float], float] = dict.fromkeys((*own, *chores), 0.0)

    def run(self, now: float) -> None:
        """Run the chores that are due. A failure is logged and soon retried."""
        for chore, due in list(self._due.items()):
            if now >= due:
                self._due[chore] = time.monotonic() + AFTER_FAILURE_SECONDS
                try:
                    self._due[chore] = time.monotonic() + chore()
                except Error as error:
                    failures.write_failure(log, "a chore failed", error)
                    connection.close()  # after a failover it may be read-only

    def next_time(self) -> float:
        """Return when the next chore is due."""
        return min(self._due.values())

    def _reap(self) -> float:
        self._call_hooks(self._store.reap())
        return self._reap_seconds * random.uniform(0.8, 1.0)  # noqa: S311 -- no secret

    def _park(self) -> float:
        return 0.0 if self._store.park() >= PARKED_AT_ONCE // 10 else PARK_SECONDS


# Removal of old tasks, in batches small enough to hold locks only briefly.


KEPT_SECONDS = 7 * 86_400
DEAD_KEPT_SECONDS = 30 * 86_400
LARGEST_BATCH, SMALLEST_BATCH = 10_000, 100
# Batches that take longer than this make the next ones smaller.
AIM_SECONDS = 0.1
REST_SECONDS = 60.0
BETWEEN_SECONDS = 0.1

_REMOVE = """
WITH old AS MATERIALIZED (
    SELECT id FROM tasks_task
    WHERE finished_at < statement_timestamp() - %(kept)s * interval '1 second'
      AND (status <> 'DEAD'
           OR finished_at < statement_timestamp() - %(dead_kept)s * interval '1 second')
    ORDER BY finished_at LIMIT %(batch)s FOR UPDATE SKIP LOCKED
), events AS (
    DELETE FROM tasks_taskevent WHERE task_id = ANY(ARRAY(SELECT id FROM old))
)
DELETE FROM tasks_task WHERE id = ANY(ARRAY(SELECT id FROM old))
"""
_OLD_ACTS = "DELETE FROM tasks_taskact WHERE at < statement_timestamp() - interval '1 year'"
_LOST_WORKERS = (
    "DELETE FROM tasks_taskworker WHERE beat_at < statement_timestamp() - interval '1 day'"
)
# Remove old counts and closed breakers that are no longer needed.
_FORGET_OWNER_COUNTS = """
WITH counts AS (
    DELETE FROM tasks_taskownertally WHERE slot < statement_timestamp() - interval '1 hour'
)
DELETE FROM tasks_taskownerbreaker
WHERE breaker = 'CLOSED' AND changed_at < statement_timestamp() - interval '1 hour'
"""

_batch = [1_000]


def remove_old() -> float:
    """Remove one batch of old rows; return the seconds until the next call."""
    start = time.monotonic()
    removed = remove_batch(batch=_batch[0])
    took = time.monotonic() - start
    if took > AIM_SECONDS:
        _batch[0] = max(SMALLEST_BATCH, int(_batch[0] * AIM_SECONDS / took))
    elif removed == _batch[0]:
        _batch[0] = min(LARGEST_BATCH, 2 * _batch[0])
    if removed:
        return BETWEEN_SECONDS
    fold_totals()
    _run_statement(_OLD_ACTS)
    _run_statement(_LOST_WORKERS)
    _run_statement(_FORGET_OWNER_COUNTS)
    return REST_SECONDS


def remove_batch(*, batch: int = LARGEST_BATCH) -> int:
    """Remove a batch of old tasks and their events; return the number of tasks.

    The settings TASK_KEPT_SECONDS and TASK_DEAD_KEPT_SECONDS define how old they must be.
    """
    kept = getattr(settings, "TASK_KEPT_SECONDS", KEPT_SECONDS)
    dead_kept = getattr(settings, "TASK_DEAD_KEPT_SECONDS", DEAD_KEPT_SECONDS)
    return _run_statement(_REMOVE, {"kept": kept, "dead_kept": dead_kept, "batch": batch})


def _run_statement(statement: str, parameters: dict[str, Any] | None = None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
