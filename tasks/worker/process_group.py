"""Group of worker processes that start together and get each signal."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from types import FrameType

log = logging.getLogger(__name__)

TICK_SECONDS = 0.2
# The shortest time before a worker that ended by itself is replaced.
RESTART_SECONDS = 1.0
# Environment variable with the id of the process whose end also ends the worker.
PARENT_VARIABLE = "TASKS_STARTED_BY"


class ProcessGroup:
    """Processes of one command. SIGTERM and SIGINT go to all of them, each time."""

    def __init__(self, command: list[str], count: int) -> None:
        self._command = command
        self._running: list[subprocess.Popen[bytes]] = []
        self._count = count
        self._is_stopping = False

    def run(self) -> None:
        """Keep them running until a signal comes, then wait until the last one has ended."""

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
            log.error("%s worker(s) ended by themselves; starting others", len(ended))
            time.sleep(RESTART_SECONDS)
        while len(self._running) < self._count and not self._is_stopping:
            self._running.append(
                subprocess.Popen(
                    [sys.executable, *self._command],
                    env=os.environ | {PARENT_VARIABLE: str(os.getpid())},
                    start_new_session=True,
                )
            )


def is_group_gone() -> bool:
    """Tell whether the process group that started this worker is gone."""
    starter = os.environ.get(PARENT_VARIABLE)
    return starter is not None and os.getppid() != int(starter)
