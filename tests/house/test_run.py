"""`run.py` and `manage.py up`, in a copy of the sources, with real processes."""

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

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROC = Path("/proc")
SOURCES = ("manage.py", "run.py", "requirements.txt", "requirements-dev.txt")
PACKAGES = ("applicants", "jobs", "pipeline", "static", "tasks", "templates")
START_SECONDS, STOP_SECONDS = 60, 40

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="finds processes through /proc")


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
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
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
    """A running `manage.py up --no-demo`."""

    def __init__(self, tree: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--no-demo", "--port", str(self.port)],
            cwd=tree,
            env={**os.environ, "DATABASE_URL": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
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
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
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
    """Starts `up` in the tree; nothing of it is left afterwards, whatever the test did."""
    started: list[Up] = []

    def start(**arguments: int) -> Up:
        started.append(Up(tree, **arguments))
        return started[-1]

    yield start
    for process_id in processes_in(tree):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)
    for each in started:
        each.process.kill()
        if each.process.stdout and not each.process.stdout.closed:
            each.process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_stops_everything(
    number: signal.Signals, up: Callable[..., Up], tree: Path
) -> None:
    running = up()
    running.hear(f"http://127.0.0.1:{running.port}/")
    assert running.status("/health/live") == 200

    code, _ = running.end(number)

    assert code == 0
    assert programs_in(tree) == {}


def test_an_impatient_second_signal_does_not_leave_anything_behind(
    up: Callable[..., Up], tree: Path
) -> None:
    running = up()
    running.hear("is ready")

    running.process.send_signal(signal.SIGINT)
    running.hear("Stopping")
    running.end(signal.SIGINT)

    assert programs_in(tree) == {}


def test_after_kill_9_of_up_everything_ends_by_itself(up: Callable[..., Up], tree: Path) -> None:
    running = up()
    running.hear("is ready")
    assert wait_until(lambda: running.status("/health/ready") == 200, START_SECONDS)

    running.end(signal.SIGKILL)

    assert wait_until(lambda: not processes_in(tree), STOP_SECONDS), programs_in(tree)


def test_a_signal_during_preparation_stops_the_database_too(
    up: Callable[..., Up], tree: Path
) -> None:
    starting = up()
    starting.hear("Preparing")
    assert wait_until(lambda: len(processes_in(tree)) > 1, START_SECONDS)

    starting.end(signal.SIGTERM)

    assert programs_in(tree) == {}


def test_when_one_program_ends_so_do_the_others(up: Callable[..., Up], tree: Path) -> None:
    running = up()
    running.hear("is ready")

    os.kill(worker_in(tree, "run_decay"), signal.SIGKILL)
    code, said = running.end()

    assert code == 1
    assert "decay ended by itself" in said
    assert programs_in(tree) == {}


def worker_in(tree: Path, name: str) -> int:
    """The worker itself, not the watcher beside it, which still has the leash's command line."""
    return next(
        process_id
        for process_id, command in programs_in(tree).items()
        if name in command and "leash" not in command
    )


def test_two_at_once_share_the_database_and_the_last_one_stops_it(
    up: Callable[..., Up], tree: Path
) -> None:
    first, second = up(), up()
    first.hear("is ready")
    second.hear("is ready")

    first.end(signal.SIGTERM)
    assert second.status("/health/live") == 200

    second.end(signal.SIGTERM)
    assert programs_in(tree) == {}


def test_a_taken_port_is_said_in_one_line_before_anything_starts(
    up: Callable[..., Up], tree: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = up(port=taken.getsockname()[1]).end()

    assert code == 1
    assert len(said.splitlines()) == 1
    assert "--port" in said


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def test_run_explains_itself_and_installs_nothing_for_that(tree: Path) -> None:
    explained = run(tree, "--help")

    assert explained.returncode == 0
    assert "run.py test" in explained.stdout
    assert not (tree / ".venv").exists()


def test_run_refuses_a_slip_of_the_pen_before_installing(tree: Path) -> None:
    assert run(tree, "--prot", "8001").returncode == 2
    assert not (tree / ".venv").exists()
