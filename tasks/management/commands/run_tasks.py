"""`manage.py run_tasks`: workers for background work, with the scheduler."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasks.listen import TransactionPooler, refuse_pooled_address
from tasks.parent import end_with_parent, end_with_supervisor
from tasks.worker.options import POLL_SECONDS, Options
from tasks.worker.worker import Worker

log = logging.getLogger(__name__)


MOST_PROCESSES, MOST_SLOTS, SHORTEST_LEASE, LONGEST_LEASE = 32, 64, 1.0, 3_600.0
LONGEST_DRAIN = 86_400.0


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Run background work, each task in a child process. Any number of workers can run "
        "at once. SIGTERM finishes running tasks; a second one returns them to the queue."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queues", nargs="+", help="only these queues (default: all)")
        parser.add_argument("--types", nargs="+", help="only these types (default: all)")
        parser.add_argument(
            "--processes", type=int, default=1, help="worker processes (%(default)s)"
        )
        parser.add_argument(
            "--slots",
            type=int,
            default=4,
            help="tasks at a time (%(default)s); each has a child process, about 3 MB while idle",
        )
        parser.add_argument(
            "--lease", type=float, default=30.0, metavar="SECONDS", help="(%(default)s)"
        )
        parser.add_argument(
            "--drain",
            type=float,
            default=600.0,
            metavar="SECONDS",
            help="seconds to finish after SIGTERM before tasks are returned (%(default)s)",
        )
        parser.add_argument("--poll", type=float, default=POLL_SECONDS, help=argparse.SUPPRESS)

    def handle(
        self, *, slots: int, lease: float, drain: float, poll: float, **options: Any
    ) -> None:
        if not 1 <= slots <= MOST_SLOTS:
            raise CommandError(f"--slots takes 1 to {MOST_SLOTS}.")
        if not SHORTEST_LEASE <= lease <= LONGEST_LEASE:
            raise CommandError(f"--lease takes {SHORTEST_LEASE} to {LONGEST_LEASE} seconds.")
        if not 0 <= drain <= LONGEST_DRAIN:
            raise CommandError(f"--drain takes 0 to {LONGEST_DRAIN} seconds.")
        if not 1 <= options["processes"] <= MOST_PROCESSES:
            raise CommandError(f"--processes takes 1 to {MOST_PROCESSES}.")
        try:
            refuse_pooled_address()
        except TransactionPooler as error:
            raise CommandError(str(error)) from error
        end_with_starter()
        if options["processes"] > 1:
            same = [*sys.argv, "--processes", "1"]  # the last --processes counts
            ProcessGroup(same, options["processes"]).run()
            return
        Worker(
            Options(
                slots=slots,
                lease_seconds=lease,
                queues=options["queues"],
                types=options["types"],
                drain_seconds=drain,
                poll_seconds=poll,
            )
        ).run()


# Group of worker processes that start together and receive the same signals.


TICK_SECONDS = 0.2
# Shortest wait before a worker that ended unexpectedly is replaced.
RESTART_SECONDS = 1.0
# Environment variable with the id of the starting process; the worker ends when that one does.
PARENT_VARIABLE = "TASKS_STARTED_BY"


class ProcessGroup:
    """Processes of one command. Each SIGTERM or SIGINT is passed to all of them as SIGTERM."""

    def __init__(self, command: list[str], count: int) -> None:
        self._command = command
        self._running: list[subprocess.Popen[bytes]] = []
        self._count = count
        self._is_stopping = False

    def run(self) -> None:
        """Keep the processes running until a signal arrives, then wait until all have ended."""

        def pass_on_to_group(number: int, frame: FrameType | None) -> None:
            self._is_stopping = True
            for process in self._running:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, pass_on_to_group)
        try:
            while not self._is_stopping or self._running:
                self._tick()
                time.sleep(TICK_SECONDS)
        finally:
            for process in self._running:
                process.kill()

    def _tick(self) -> None:
        ended = [process for process in self._running if process.poll() is not None]
        self._running = [process for process in self._running if process not in ended]
        if self._is_stopping:
            return
        if ended:
            log.error("%s worker(s) ended unexpectedly; starting others", len(ended))
            time.sleep(RESTART_SECONDS)
        while len(self._running) < self._count and not self._is_stopping:
            self._running.append(
                subprocess.Popen(
                    [sys.executable, *self._command],
                    env=os.environ | {PARENT_VARIABLE: str(os.getpid())},
                    start_new_session=True,
                )
            )


def end_with_starter() -> None:
    """End this process, in good order, with its process group, or with its supervisor if asked."""
    if starter := os.environ.get(PARENT_VARIABLE):
        end_with_parent(int(starter))
    else:
        end_with_supervisor()
