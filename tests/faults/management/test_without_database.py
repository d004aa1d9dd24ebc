"""Workers without a database write one short line a minute, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.environment import ROOT, process_environment
from tests.support.ports import port_for_server
from tests.support.waiting import eventually

# Some failed attempts, and no more than a machine that is busy needs for them.
SECONDS = 8


@pytest.mark.parametrize("command", ["run_decay", "run_tasks"])
def test_a_worker_without_a_database_writes_one_short_line(command: str, tmp_path: Path) -> None:
    url = f"postgres://nobody@127.0.0.1:{port_for_server()}/nothing"
    log = tmp_path / "worker.log"
    with log.open("wb") as said:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", command],
            cwd=ROOT,
            env=process_environment(DATABASE_URL=url),
            stdout=said,
            stderr=said,
        )

    try:
        eventually(lambda: "the database is away" in log.read_text())
        with suppress(subprocess.TimeoutExpired):
            worker.wait(SECONDS)
        assert worker.poll() is None
    finally:
        worker.terminate()
        worker.wait(30)

    lines = [each for each in log.read_text().splitlines() if "database" in each]
    assert "Traceback" not in log.read_text()
    assert lines[0].count("is tried again") == 1
    assert len(lines) <= 2  # the task worker also says at its end that it could not return tasks
    assert sum(map(len, lines)) < 1_000
