"""`run.py` and `manage.py up`, in a copy of the sources, with real processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house.running import (
    PROC,
    START_SECONDS,
    STOP_SECONDS,
    Up,
    processes_in,
    program_in,
    programs_in,
    tree,
    up,
    wait_until,
)

__all__ = ["tree", "up"]
pytestmark = [
    pytest.mark.skipif(not PROC.exists(), reason="finds processes through /proc"),
    pytest.mark.timeout(900),
]


def test_doctor_knows_its_port_and_one_signal_stops_everything(
    up: Callable[..., Up], tree: Path
) -> None:
    running = up()
    running.hear("is ready")
    url = f"http://127.0.0.1:{running.port}"

    found = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--url", url],
        cwd=tree,
        env={**os.environ, "DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert running.status("/health/live") == 200
    assert f"Emails are kept on this machine: {url}/dev/mail/." in found
    assert "SITE_URL is" not in found
    stops_everything(running, signal.SIGINT, tree)  # SIGTERM and SIGHUP end other tests


def stops_everything(running: Up, number: signal.Signals, tree: Path) -> None:
    """Assert that a signal ends it in good order, and that nothing of it is left."""
    code, _ = running.end(number)

    assert code == 0
    assert programs_in(tree) == {}


@pytest.mark.in_turns(3)
def test_an_impatient_second_signal_does_not_leave_anything_behind(
    up: Callable[..., Up], tree: Path
) -> None:
    running = up()
    running.hear("is ready")

    running.process.send_signal(signal.SIGINT)
    running.hear("Stopping")
    running.end(signal.SIGINT)

    assert programs_in(tree) == {}


@pytest.mark.in_turns(3)
def test_after_kill_9_of_up_everything_ends_by_itself(up: Callable[..., Up], tree: Path) -> None:
    running = up()
    running.hear("is ready")
    assert wait_until(lambda: running.status("/health/ready") == 200, START_SECONDS)

    running.end(signal.SIGKILL)

    assert wait_until(lambda: not processes_in(tree), STOP_SECONDS), programs_in(tree)


@pytest.mark.in_turns(3)
def test_a_signal_during_preparation_stops_the_database_too(
    up: Callable[..., Up], tree: Path
) -> None:
    starting = up()
    starting.hear("Preparing")
    assert wait_until(lambda: len(processes_in(tree)) > 1, START_SECONDS)

    starting.end(signal.SIGTERM)

    assert programs_in(tree) == {}


@pytest.mark.in_turns(3)
def test_programs_that_are_killed_again_and_again_come_again(
    up: Callable[..., Up], tree: Path
) -> None:
    running = up()
    running.hear("is ready")
    for name, command in (("tasks", "run_tasks"), ("decay", "run_decay"), ("web", "gunicorn")) * 2:
        killed = program_in(tree, command)
        assert killed
        before = {each for each, said in programs_in(tree).items() if command in said}

        os.kill(killed, signal.SIGKILL)

        running.hear(f"{name} ended by itself")
        assert wait_until(
            lambda: (now := program_in(tree, command)) and now not in before,  # noqa: B023 -- asked at once
            START_SECONDS,
        )
    assert wait_until(lambda: running.status("/health/ready") == 200, START_SECONDS)
    stops_everything(running, signal.SIGHUP, tree)


@pytest.mark.in_turns(3)
def test_two_at_once_share_the_database_and_the_last_one_stops_it(
    up: Callable[..., Up], tree: Path
) -> None:
    first, second = up(), up()
    first.hear("is ready")
    second.hear("is ready")

    first.end(signal.SIGTERM)
    assert second.status("/health/live") == 200

    stops_everything(second, signal.SIGTERM, tree)


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
