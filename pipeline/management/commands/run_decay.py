"""`manage.py run_decay`: run the decay worker."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.management.decay_worker import LONGEST_REST_SECONDS, DecayWorker
from tasks.listen import TransactionPooler, refuse_pooled_address
from tasks.loop import run_forever
from tasks.parent import end_with_supervisor

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
