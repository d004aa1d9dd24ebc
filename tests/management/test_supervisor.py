"""The supervisor starts a program that ends again, for ever, and leaves the others alone."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.management import keep_up
from pipeline.management.keep_up import Program, ProgramEnded, Supervisor
from tests.support.environment import ROOT

STAYS = [sys.executable, "-c", "import time; time.sleep(60)"]
ENDS = [sys.executable, "-c", "raise SystemExit(3)"]


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """The signals are ours again afterwards."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _short_wait_for_the_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody collects the ended processes of others, each end would take its longest."""
    monkeypatch.setattr(keep_up, "GONE_SECONDS", 0.1)


def test_a_program_that_always_ends_is_started_again_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_up, "FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(keep_up, "LONGEST_PAUSE_SECONDS", 0.4)
    said: list[str] = []
    programs = [Program("web", STAYS), Program("decay", ENDS)]

    with Supervisor(programs, folder=ROOT, say=said.append) as running:
        web = running._running["web"]
        end = time.monotonic() + 60
        running.wait_until(lambda: len(said) >= 5 or time.monotonic() > end, seconds=90)
        assert web.poll() is None

    pauses = [float(re.search(r"in ([\d.]+) s", line)[1]) for line in said[:5]]  # type: ignore[index]
    assert pauses == [0.1, 0.2, 0.4, 0.4, 0.4]
    assert "decay ended by itself (exit code 3)" in said[0]


def test_a_program_that_must_start_ends_the_wait_for_readiness() -> None:
    programs = [Program("web", ENDS, must_start=True), Program("decay", STAYS)]
    running = Supervisor(programs, folder=ROOT, say=lambda _: None)

    with pytest.raises(ProgramEnded), running:
        running.wait_until(lambda: False, seconds=60)


def test_once_all_is_ready_it_is_started_again_and_its_children_may_finish_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(keep_up, "FIRST_PAUSE_SECONDS", 2.0)
    said: list[str] = []
    finished = tmp_path / "finished"
    child = f"import time, pathlib; time.sleep(1); pathlib.Path({str(finished)!r}).touch()"
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])"
    web = Program("web", [sys.executable, "-c", code], must_start=True)

    with Supervisor([web], folder=ROOT, say=said.append) as running:
        monkeypatch.setattr(running, "_tick", _until(lambda: len(said) >= 2, running))
        running.wait()

    assert finished.exists()
    assert "web ended by itself (exit code 0); it is started again in 2 s." in said


def _until(condition: Callable[[], bool], running: Supervisor) -> Callable[[], None]:
    """Stop a supervisor once a condition holds."""
    tick = running._tick

    def tick_and_look() -> None:
        tick()
        running.is_stopping = condition()

    return tick_and_look
