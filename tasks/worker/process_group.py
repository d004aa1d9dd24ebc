"""Group of worker processes that start together and receive the same signals."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from types import FrameType

from tasks.parent import end_with_parent, end_with_supervisor

log = logging.getLogger(__name__)

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
