"""With END_WITH_PARENT, nothing outlives a supervisor that is killed, wherever it runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.environment import ROOT, process_environment
from tests.support.orphans import orphans
from tests.support.ports import port_for_server
from tests.support.waiting import eventually

# A supervisor: it starts a program and waits for it.
SUPERVISOR = (
    "import json, subprocess, sys; subprocess.run([sys.executable, *json.loads(sys.argv[1])])"
)
WEB = ["-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config", "pipeline.asgi"]
PROGRAMS = {
    "web": ([*WEB, "--workers", "1", "--bind"], 2),  # processes: the master and its worker
    "decay": (["manage.py", "run_decay"], 1),
    "tasks": (["manage.py", "run_tasks"], 2),  # the worker and its fork server
    "two task workers": (["manage.py", "run_tasks", "--processes", "2"], 5),
}
END_SECONDS = 30


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for left in orphans(tmp_path, []):
        with suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


def run_and_kill_supervisor(name: str, temporary: Path, **environment: str) -> None:
    """Wait until a supervised program runs, without a database, and kill its supervisor."""
    command, count = PROGRAMS[name]
    if name == "web":
        command = [*command, f"127.0.0.1:{port_for_server()}"]
    url = f"postgres://nobody@127.0.0.1:{port_for_server()}/nothing"
    own = {"DATABASE_URL": url, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    log = temporary / "log"
    with log.open("wb") as said:
        supervisor = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, json.dumps(command)],
            cwd=ROOT,
            env=process_environment(**own) | environment,
            stderr=said,
        )
    # It looks for its parent once it has begun its work.
    eventually(lambda: re.search("Booting worker|the database is away", log.read_text()))
    eventually(lambda: len(orphans(temporary, [])) > count)
    supervisor.kill()
    supervisor.wait()


# A supervisor that ends when its program has loaded a part, and before it has begun its work.
ENDS_EARLY = """
import subprocess, sys
program = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stderr=subprocess.PIPE)
program.stderr.readline()
"""
SLOW_TO_LOAD = """
import os, sys, time
from django.conf import settings
settings.configure(END_WITH_PARENT=True)
from tasks import parent
starter = os.getppid()
print("loaded", file=sys.stderr, flush=True)
while os.getppid() == starter:
    time.sleep(0.01)
parent.end_with_supervisor()
time.sleep(60)
print("outlived")
"""


def test_a_supervisor_that_ended_while_its_program_loaded_is_noticed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ENDS_EARLY, SLOW_TO_LOAD],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=END_SECONDS,  # until the program has closed its output
    )

    assert "outlived" not in run.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_with_its_supervisor(name: str, temporary: Path) -> None:
    run_and_kill_supervisor(name, temporary, END_WITH_PARENT="on")

    eventually(lambda: not orphans(temporary, []), END_SECONDS)


def test_control_without_the_setting_it_goes_on(temporary: Path) -> None:
    run_and_kill_supervisor("decay", temporary)
    time.sleep(2)

    assert len(orphans(temporary, [])) == 1
