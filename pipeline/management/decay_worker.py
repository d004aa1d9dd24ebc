"""The decay worker: settles whatever becomes due, on time, and shares the jobs with its like.

It sleeps until the next thing is due, at most `longest_rest_seconds`; what becomes due sooner than
that after its commit is announced by a NOTIFY.
"""

from __future__ import annotations

import logging
import math
import time
from uuid import UUID

import psycopg
from django.db import connection
from django.db.models.functions import Now

from pipeline.maintenance.name_index import learn_names
from pipeline.models import Heartbeat
from pipeline.services.settle import SettlingFailed, seconds_until_due, settle_next_due

log = logging.getLogger(__name__)

NAME = "decay"
CHANNEL = "line_due"
LONGEST_REST_SECONDS = 5.0
SHORTEST_REST_SECONDS = 0.02
BEAT_SECONDS = 1.0
# How often, at most, an idle worker learns the names of who has applied.
LEARN_SECONDS = 2.0
# How long a job that could not be settled is left alone, so that it does not stop the others.
SET_ASIDE_SECONDS = 30.0


class DecayWorker:
    """One worker: which jobs it has set aside, when it last gave a sign of life, what it hears."""

    def __init__(self, *, longest_rest_seconds: float = LONGEST_REST_SECONDS) -> None:
        self.longest_rest_seconds = longest_rest_seconds
        self._aside: dict[UUID, float] = {}
        self._last_beat = float("-inf")
        self._last_learned = float("-inf")
        self._listener: psycopg.Connection | None = None

    def step(self) -> int:
        """Settle one due job that nobody else has, if there is one; says how many that were."""
        self._hear()
        try:
            settled = settle_next_due(skip=self._set_aside())
        except SettlingFailed as failure:
            self._aside[failure.job_id] = time.monotonic() + SET_ASIDE_SECONDS
            log.exception("set aside for %s s: %s", SET_ASIDE_SECONDS, failure)
            return 1
        self._beat()
        if settled is None:
            self._learn()
            return 0
        log.debug("settled job %s with %s events", settled.job_id, settled.events)
        return 1

    def drain(self) -> tuple[int, int]:
        """Settle everything that is due now; says how many jobs that were, and how many failed."""
        steps = 0
        while self.step():
            steps += 1
        failed = len(self._aside)
        return steps - failed, failed

    def rest_seconds(self) -> float:
        """How long to rest: until the next thing is due, by the database's clock, within bounds.

        Something that is due but locked by somebody else is about to be settled by them.
        """
        until_due = seconds_until_due(skip=self._set_aside())
        until_retry = min(self._aside.values(), default=math.inf) - time.monotonic()
        soonest = min(until_retry, math.inf if until_due is None else until_due)
        return min(self.longest_rest_seconds, max(SHORTEST_REST_SECONDS, soonest))

    def sources(self) -> list[int]:
        """What ends a rest early: the connection on which other processes announce due jobs."""
        return [self._listener.fileno()] if self._listener else []

    def close(self) -> None:
        """Give the listening connection back."""
        if self._listener:
            self._listener.close()
            self._listener = None

    def _hear(self) -> None:
        """Listen from before the first look on; take in what was announced: it needs no answer."""
        try:
            self._listener = self._listener or _listening_connection()
            for _ in self._listener.notifies(timeout=0):
                pass
        except psycopg.Error:
            self.close()
            raise

    def _set_aside(self) -> list[UUID]:
        now = time.monotonic()
        self._aside = {job_id: until for job_id, until in self._aside.items() if until > now}
        return list(self._aside)

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._last_beat >= BEAT_SECONDS:
            self._last_beat = now
            Heartbeat.objects.bulk_create(
                [Heartbeat(worker=NAME, completed_at=Now())],
                update_conflicts=True,
                unique_fields=["worker"],
                update_fields=["completed_at"],
            )

    def _learn(self) -> None:
        now = time.monotonic()
        if now - self._last_learned >= LEARN_SECONDS:
            self._last_learned = float("-inf") if learn_names() else now


def _listening_connection() -> psycopg.Connection:
    """A connection of its own, past any pooler's transactions, on which due jobs are announced."""
    wrapper = connection.copy()
    raw = wrapper.get_new_connection(wrapper.get_connection_params())
    raw.autocommit = True
    raw.execute(f"LISTEN {CHANNEL}")
    return raw
