"""What workers do besides: reap, keep schedules, clean up; each in its own rhythm."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.db import Error, connection

from tasks.sql.queues import PARKED_AT_ONCE

if TYPE_CHECKING:
    from tasks.worker.task_store import Ledger

log = logging.getLogger(__name__)

PARK_SECONDS = 3.0
"""How often to look whether paused tasks stand in the claim's way."""


class Upkeep:
    """The chores of a worker, and when each is due; monotonic times."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        reap_seconds = min(3.0, ledger.options.lease_seconds / 4)
        self._chores: dict[Callable[[], float], float] = {}
        self._reap_seconds = reap_seconds
        for chore in (self._reap, self._park, self._schedule, self._clean_up):
            self._chores[chore] = 0.0

    def run(self, now: float) -> None:
        """Do what is due. What fails is logged, and tried again with its next turn."""
        for chore, due in list(self._chores.items()):
            if now >= due:
                self._chores[chore] = time.monotonic() + 1.0
                try:
                    self._chores[chore] = time.monotonic() + chore()
                except Error:
                    log.exception("a chore failed")
                    connection.close()  # after a failover it may be one that only reads

    def next_time(self) -> float:
        """When the next one is due."""
        return min(self._chores.values())

    def _reap(self) -> float:
        self._ledger.reap()
        return self._reap_seconds * random.uniform(0.8, 1.0)  # noqa: S311 -- no secret

    def _park(self) -> float:
        return 0.0 if self._ledger.park() >= PARKED_AT_ONCE // 10 else PARK_SECONDS

    def _schedule(self) -> float:
        from tasks.scheduling.schedules import enqueue_due

        return enqueue_due()

    def _clean_up(self) -> float:
        from tasks.retention import clean_up

        return clean_up()
