"""Periodic chores of a worker, each at its own interval: reaping, parking, schedules, clean-up."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from django.db import Error, connection

from tasks import retention
from tasks.failure_log import failures
from tasks.registry import chores
from tasks.scheduling import schedules
from tasks.sql.claim import PARKED_AT_ONCE
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
        own = (self._reap, self._park, schedules.enqueue_due, retention.run)
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
