"""Decay workers as separate processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.environment import ROOT
from tests.support.waiting import PATIENCE_SECONDS


class DecayProcess:
    """One `manage.py run_decay`."""

    def __init__(self, environment: dict[str, str], log: Path, *options: str) -> None:
        self._log = log
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run_decay", *options],
                cwd=ROOT,
                env=environment,
                stderr=said,
                stdout=said,
            )

    @property
    def said(self) -> str:
        """Output so far, to standard output and error."""
        return self._log.read_text()

    def end(self) -> tuple[int, float]:
        """Send SIGTERM; its exit status, and how many seconds it took to end."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS), time.monotonic() - start


@pytest.fixture
def start_decay_worker(
    environment: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., DecayProcess]]:
    """Starts workers, and kills those that are left at the end."""
    workers: list[DecayProcess] = []

    def start(*options: str) -> DecayProcess:
        log = tmp_path / f"worker-{len(workers)}.log"
        workers.append(DecayProcess(environment, log, *options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
