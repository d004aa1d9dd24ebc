"""A copy of the sources, in which `run.py` and `manage.py up` are run with real processes."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dispositions import reset_dispositions

ROOT = Path(__file__).resolve().parents[2]
PROC = Path("/proc")
SOURCES = (
    "manage.py",
    "run.py",
    "requirements.txt",
    "requirements-embedded.txt",
    "requirements-dev.txt",
)
PACKAGES = ("applicants", "jobs", "pipeline", "static", "tasks", "templates")
START_SECONDS, STOP_SECONDS = 240, 120


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """The product without its data, where every user can reach it (pytest's own are closed)."""
    path = Path(tempfile.mkdtemp(prefix="tree-", dir="/tmp")).resolve()
    (path / ".local").mkdir()
    for folder in (path, path / ".local"):
        folder.chmod(0o755)
    for name in SOURCES:
        shutil.copy(ROOT / name, path)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, path / name)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def processes_in(tree: Path) -> set[int]:
    """The processes that work in `tree` or below, the database's among them."""
    found = set()
    for process in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(tree):
                found.add(int(process.name))
    return found


def programs_in(tree: Path) -> dict[int, str]:
    """The command line of each of these processes."""
    commands = {}
    for process_id in processes_in(tree):
        with contextlib.suppress(OSError):
            raw = (PROC / str(process_id) / "cmdline").read_bytes()
            commands[process_id] = raw.replace(b"\0", b" ").decode()
    return commands


class Up:
    """A running `manage.py up`, without the demo unless it is asked for."""

    def __init__(self, tree: Path, port: int | None = None, *, with_demo: bool = False) -> None:
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(self.port)]
            + ([] if with_demo else ["--no-demo"]),
            cwd=tree,
            env={**os.environ, "DATABASE_URL": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=reset_dispositions,  # noqa: PLW1509  no threads run here
        )

    def hear(self, words: str) -> None:
        """Read on to the line that contains `words`."""
        assert self.process.stdout
        said = []
        for line in self.process.stdout:
            said.append(line)
            if words in line:
                return
        pytest.fail(f"never said {words!r}, but:\n{''.join(said)}")

    def status(self, path: str) -> int:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client.request("GET", path)
        status = client.getresponse().status
        client.close()
        return status

    def end(self, number: int = 0) -> tuple[int, str]:
        """Send a signal (0: none); the exit code, and what was said since the last line heard."""
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, said


@pytest.fixture
def up(tree: Path) -> Iterator[Callable[..., Up]]:
    """Starts `up` in the tree; nothing is left of it afterwards, whatever the test did."""
    with started_in(tree) as start:
        yield start


@contextlib.contextmanager
def started_in(tree: Path) -> Iterator[Callable[..., Up]]:
    """Starts `up` in the tree, and leaves nothing of it at the end of the block."""
    started: list[Up] = []

    def start(**arguments: Any) -> Up:
        started.append(Up(tree, **arguments))
        return started[-1]

    try:
        yield start
    finally:
        for each in started:
            each.process.kill()
        while left := processes_in(tree):  # a parent may just have started another
            for process_id in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)
            time.sleep(0.01)
        for each in started:
            if each.process.stdout and not each.process.stdout.closed:
                each.process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Ask less and less often: to look at all processes takes long itself."""
    begun = time.monotonic()
    while not (held := condition()) and (waited := time.monotonic() - begun) < seconds:
        time.sleep(min(max(waited / 20, 0.02), 0.25))
    return held


def program_in(tree: Path, name: str) -> int | None:
    """The first of the program's processes, not the watcher beside it."""
    found = (
        process_id
        for process_id, command in sorted(programs_in(tree).items())
        if name in command and "die_with_parent" not in command
    )
    return next(found, None)
