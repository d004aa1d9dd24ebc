"""The database crashes under load, in a cluster of this test's own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from pipeline.database.cluster import PORT, Cluster
from tests.faults.database.cluster_users import clean_up
from tests.support.environment import ROOT
from tests.support.task_workers import MARKS, TaskWorker
from tests.support.waiting import PATIENCE_SECONDS, eventually

# Enqueues until it is told to end, and prints each task that was committed.
PRODUCER = """
import django, time
django.setup()
from django.db import Error, connection
from tasks.enqueue import enqueue
while True:
    try:
        print(enqueue("test.slow", {"name": "t", "seconds": 0.1}).id, flush=True)
    except Error:
        connection.close()
    time.sleep(0.03)
"""
ENDED = "SELECT id, finished_at FROM tasks_task WHERE status = 'SUCCEEDED'"


class Away:
    """A cluster that can be restarted, with a migrated database; commits are not forgotten."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, fsync="off", synchronous_commit="on")
        self.cluster.ensure()
        socket_dir = self.cluster.socket_dir
        self.address = f"host={socket_dir} port={PORT} user=postgres dbname=postgres"
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        } | {
            "DATABASE_URL": f"postgres://postgres@/{quote(str(socket_dir))}/postgres",
            "SECRET_KEY": "of-a-test-0123456789-abcdefghijkl",
            "DJANGO_SETTINGS_MODULE": "tests.tasks.settings",
        }
        self.run("manage.py", "migrate", "-v0")
        self.ask(MARKS)

    def run(self, *command: str) -> None:
        subprocess.run([sys.executable, *command], cwd=ROOT, env=self.environment, check=True)

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def restart(self, away_seconds: float) -> None:
        """Kill every connection, stay away for a while, come back."""
        server = self.cluster.server
        pid = int((server.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, 3)  # SIGQUIT: at once, as in a crash
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
        time.sleep(away_seconds)
        self.cluster.ensure()


@pytest.fixture
def away(folder: Path) -> Iterator[Away]:
    made = Away(folder)
    yield made
    made.cluster.release()
    clean_up(folder)


@pytest.fixture
def started(away: Away, tmp_path: Path) -> Iterator[list[TaskWorker]]:
    """Two workers, killed at the end."""
    workers = [
        TaskWorker(away.environment, tmp_path / f"{n}.log", "--lease", "2") for n in range(2)
    ]
    yield workers
    for worker in workers:
        worker.process.kill()
        worker.process.wait()


@pytest.mark.slow
def test_a_crash_of_the_database_loses_and_repeats_nothing_and_ends_no_worker(
    away: Away, started: list[TaskWorker]
) -> None:
    producer = subprocess.Popen(
        [sys.executable, "-c", PRODUCER],
        cwd=ROOT,
        env=away.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: len(away.ask(ENDED)) > 10)

    acknowledged = dict(away.ask(ENDED))
    away.restart(away_seconds=0.5)
    eventually(lambda: len(away.ask(ENDED)) > len(acknowledged) + 10)
    producer.terminate()
    enqueued = set(producer.communicate(timeout=PATIENCE_SECONDS)[0].split())

    left = "SELECT 1 FROM tasks_task WHERE status <> 'SUCCEEDED'"
    eventually(lambda: not away.ask(left), 2 * PATIENCE_SECONDS)
    ended = dict(away.ask(ENDED))
    assert {name: ended.get(name) for name in acknowledged} == acknowledged
    assert enqueued <= {str(name) for name in ended}
    times = Counter(
        name for (name,) in away.ask("SELECT task_id FROM tasks_taskevent WHERE kind = 'succeeded'")
    )
    assert set(times) == set(ended)
    assert set(times.values()) == {1}
    assert [worker.end()[0] for worker in started] == [0, 0]
