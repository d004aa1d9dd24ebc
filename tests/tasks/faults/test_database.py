"""The database goes away under load, in a cluster of this test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from pipeline.database.cluster import PORT, Cluster
from tests.conftest import ROOT
from tests.tasks.handlers import MARKS
from tests.tasks.workers import PATIENCE_SECONDS, TaskWorker, eventually

ADD = """
import django, sys
django.setup()
from tasks.enqueue import NewTask, enqueue_many
enqueue_many([NewTask("test.slow", {"name": f"t{n}", "seconds": 0.2}) for n in range(60)])
"""


class Away:
    """A cluster that can be restarted, with a migrated database."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, fsync="off")
        self.cluster.ensure()
        socket_dir = self.cluster.socket_dir
        self.address = f"host={socket_dir} port={PORT} user=postgres dbname=postgres"
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        } | {
            "DATABASE_URL": f"postgres://postgres@/{quote(str(socket_dir))}/postgres",
            "SECRET_KEY": "of a test",
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
def away() -> Iterator[Away]:
    folder = Path(tempfile.mkdtemp(prefix="tasks-", dir="/tmp")).resolve()
    folder.chmod(0o755)
    made = Away(folder)
    yield made
    made.cluster.release()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_crash_of_the_database_loses_nothing_and_ends_no_worker(
    away: Away, tmp_path: Path
) -> None:
    away.run("-c", ADD)
    workers = [
        TaskWorker(away.environment, tmp_path / f"{n}.log", "--lease", "3", "--slots", "2")
        for n in range(2)
    ]
    try:
        eventually(lambda: away.ask("SELECT 1 FROM tasks_task WHERE status = 'SUCCEEDED'"))

        away.restart(away_seconds=1.0)

        left = "SELECT 1 FROM tasks_task WHERE status <> 'SUCCEEDED'"
        eventually(lambda: not away.ask(left), 2 * PATIENCE_SECONDS)
        assert [worker.process.poll() for worker in workers] == [None, None]
        ended = Counter(
            task for (task,) in away.ask("SELECT task_id FROM tasks_taskevent"
                                         " WHERE kind = 'succeeded'")
        )  # fmt: skip
        assert len(ended) == 60
        assert set(ended.values()) == {1}
        assert [worker.end()[0] for worker in workers] == [0, 0]
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
