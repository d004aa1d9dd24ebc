"""Task workers as separate processes, and the table in which handlers leave marks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support.environment import ROOT
from tests.support.waiting import PATIENCE_SECONDS

MARKS = (
    "CREATE TABLE IF NOT EXISTS task_marks (name text, at timestamptz DEFAULT clock_timestamp())"
)


class TaskWorker:
    """One `manage.py run_tasks`, with the tests' own types."""

    def __init__(self, environment: dict[str, str], log: Path, *options: str) -> None:
        self._log = log
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run_tasks", *options],
                cwd=ROOT,
                env=environment,
                stderr=said,
                stdout=said,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """Output so far of the worker and its children."""
        return self._log.read_text()

    def signal(self, which: signal.Signals) -> None:
        os.kill(self.process.pid, which)

    def end(self) -> tuple[int, float]:
        """Send SIGTERM; its exit status, and how many seconds it took to end."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS), time.monotonic() - start


StartWorker = Callable[..., TaskWorker]


@pytest.fixture
def start_worker(environment: dict[str, str], tmp_path: Path) -> Iterator[StartWorker]:
    """Starts workers, and kills those that are left at the end."""
    workers: list[TaskWorker] = []

    def start(*options: str, **more: str) -> TaskWorker:
        log = tmp_path / f"worker-{len(workers)}.log"
        own = {"DJANGO_SETTINGS_MODULE": "tests.tasks.settings"}
        workers.append(TaskWorker(environment | own | more, log, *options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.process.kill()
        worker.process.wait()


@pytest.fixture
def marks(transactional_db: None) -> Iterator[None]:
    """Create the table in which handlers leave marks."""
    with connection.cursor() as cursor:
        cursor.execute(MARKS)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE task_marks")


def children_of(process: TaskWorker) -> set[int]:
    """The fork server and the children of a worker: what is in sessions it started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(text.split()[0])] = int(text.rpartition(")")[2].split()[1])
    found = {process.process.pid}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process.process.pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
