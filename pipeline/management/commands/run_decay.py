"""`manage.py run_decay`: run the decay worker, which settles due jobs on time.

Any number of workers share the jobs. A worker sleeps until the next job is due, at most
`longest_rest_seconds`. After a commit that makes a job due sooner, a NOTIFY wakes it.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from uuid import UUID, uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models.functions import Now

from pipeline.maintenance import name_index
from pipeline.models import Heartbeat
from pipeline.services import outage
from pipeline.services.settling import SettlingFailed, seconds_until_settlement, settle_next_due
from tasks import log_context
from tasks.listen import Listener, TransactionPooler, refuse_pooled_address
from tasks.loop import run_forever
from tasks.parent import end_with_supervisor

log = logging.getLogger(__name__)


SHORTEST, LONGEST = 0.1, 3_600.0
# Longest rest, whatever the interval: /health/ready expects a heartbeat every 30 s.
HEARTBEAT_SECONDS = 10.0


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Settle overdue offers as their deadlines pass, and fill the seats that they free. "
        "Any number of workers can run at once: they share the jobs. SIGTERM ends a worker."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="settle the jobs that are due now, print their number and exit",
        )
        parser.add_argument(
            "--interval",
            type=float,
            default=LONGEST_REST_SECONDS,
            metavar="SECONDS",
            help="longest rest between two checks (default: %(default)s; at most "
            f"{HEARTBEAT_SECONDS}). The worker wakes for each deadline, so a long interval does "
            "not make it late",
        )

        parser.add_argument(
            "--moving-job",
            type=UUID,
            metavar="JOB",
            help="also let invented people come and go in this job; `up` does so for the demo",
        )

    def handle(self, *, once: bool, interval: float, moving_job: UUID | None, **_: Any) -> None:
        if not SHORTEST <= interval <= LONGEST:
            raise CommandError(f"--interval takes {SHORTEST} to {LONGEST} seconds.")
        try:
            refuse_pooled_address()
        except TransactionPooler as error:
            raise CommandError(str(error)) from error
        worker = DecayWorker(longest_rest_seconds=min(interval, HEARTBEAT_SECONDS))
        try:
            if once:
                settled, failed = worker.drain()
                self.stdout.write(f"Settled {settled} jobs.")
                if failed:
                    raise CommandError(
                        f"{failed} jobs could not be settled; the log above says why."
                    )
            else:
                end_with_supervisor()
                with keep_moving(moving_job):
                    run_forever(
                        worker.step, idle_seconds=worker.rest_seconds, sources=worker.sources
                    )
        finally:
            worker.close()


def keep_moving(job_id: UUID | None) -> AbstractContextManager[object]:
    """Return the moving job of the demo as a context, or one that does nothing."""
    if job_id is None:
        return nullcontext()
    from pipeline.management.demo.moving import MovingJob

    return MovingJob(job_id)


# Decay worker: settles due jobs on time. Any number of workers share the jobs. It sleeps until the
# next job is due, at most `longest_rest_seconds`. After a commit that makes a job due sooner, a
# NOTIFY wakes it.


NAME = "decay"
CHANNEL = "line_due"
LONGEST_REST_SECONDS = 5.0
SHORTEST_REST_SECONDS = 0.02
BEAT_SECONDS = 1.0
# The shortest time between two updates of the name index by an idle worker.
LEARN_SECONDS = 2.0
# How long a job that could not be settled is skipped, so that it does not hold up the others.
SET_ASIDE_SECONDS = 30.0


class DecayWorker:
    """Decay worker: the jobs it has set aside, its last heartbeat, its listening connection."""

    def __init__(self, *, longest_rest_seconds: float = LONGEST_REST_SECONDS) -> None:
        self.longest_rest_seconds = longest_rest_seconds
        self._aside: dict[UUID, float] = {}
        self._last_beat = float("-inf")
        self._last_learned = float("-inf")
        self._listener = Listener(CHANNEL)
        # By the wall clock: the monotonic one stands still while the machine sleeps.
        self._last_sign = float("-inf")

    def step(self) -> int:
        """Settle one unlocked due job, if there is one. Returns the number of settled jobs."""
        if not 0 <= time.time() - self._last_sign < BEAT_SECONDS:  # before anything is settled
            outage.extend_offers()
            self._last_sign = time.time()
        self._listener.poll()  # started before the first check; a notification needs no answer
        try:
            with log_context.bound_fields(
                request_id=uuid4().hex
            ):  # of the emails and webhooks, too
                settled = settle_next_due(skip=self._set_aside())
        except SettlingFailed as failure:
            self._aside[failure.job_id] = time.monotonic() + SET_ASIDE_SECONDS
            about = {"job_id": str(failure.job_id)}
            log.exception("set aside for %s s: %s", SET_ASIDE_SECONDS, failure, extra=about)
            return 1
        now = time.monotonic()
        if now - self._last_beat >= BEAT_SECONDS:
            self._last_beat = now
            Heartbeat.objects.bulk_create(
                [Heartbeat(worker=NAME, completed_at=Now())],
                update_conflicts=True,
                unique_fields=["worker"],
                update_fields=["completed_at"],
            )
        if settled is None:
            if now - self._last_learned >= LEARN_SECONDS:
                self._last_learned = float("-inf") if name_index.update() else now
            return 0
        log.debug("settled job %s with %s events", settled.job_id, settled.events)
        return 1

    def drain(self) -> tuple[int, int]:
        """Settle everything that is due now.

        Returns how many jobs succeeded and how many failed.
        """
        steps = 0
        while self.step():
            steps += 1
        failed = len(self._aside)
        return steps - failed, failed

    def rest_seconds(self) -> float:
        """Return the seconds until the next job is due, by the database's clock, within bounds.

        A due job that is locked will be settled by the holder of its lock.
        """
        until_due = seconds_until_settlement(skip=self._set_aside())
        until_retry = min(self._aside.values(), default=math.inf) - time.monotonic()
        soonest = min(until_retry, math.inf if until_due is None else until_due)
        return min(self.longest_rest_seconds, max(SHORTEST_REST_SECONDS, soonest))

    def sources(self) -> list[int]:
        """Return the file descriptor whose input ends a rest early: NOTIFY of due jobs."""
        fileno = self._listener.fileno()
        return [] if fileno is None else [fileno]

    def close(self) -> None:
        """Close the listening connection."""
        self._listener.close()

    def _set_aside(self) -> list[UUID]:
        now = time.monotonic()
        self._aside = {job_id: until for job_id, until in self._aside.items() if until > now}
        return list(self._aside)
