"""The loop of every long process."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tasks import loop
from tasks.loop import run_forever

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 30.0


def ending(after: int, result: int = 0) -> tuple[Callable[[], int], list[float]]:
    """A step that asks for the end after this many calls, and when it was called."""
    calls: list[float] = []

    def step() -> int:
        calls.append(time.monotonic())
        if len(calls) >= after:
            os.kill(os.getpid(), signal.SIGTERM)
        return result

    return step, calls


def test_a_step_that_did_something_is_called_again_without_a_rest() -> None:
    step, calls = ending(after=5, result=1)

    run_forever(step, idle_seconds=lambda: LONG)

    assert len(calls) == 5


def test_an_idle_step_rests_as_long_as_it_says() -> None:
    step, calls = ending(after=3)

    run_forever(step, idle_seconds=lambda: 0.05)

    assert all(later - earlier >= 0.05 for earlier, later in pairwise(calls))


def test_a_signal_during_a_rest_ends_it_at_once() -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    start = time.monotonic()

    run_forever(lambda: 0, idle_seconds=lambda: LONG)

    assert time.monotonic() - start < LONG / 2


def test_something_to_read_ends_a_rest() -> None:
    ours, theirs = socket.socketpair()
    step, calls = ending(after=2)
    threading.Timer(0.1, theirs.send, (b"news",)).start()
    start = time.monotonic()

    with ours, theirs:
        run_forever(step, idle_seconds=lambda: LONG, sources=lambda: [ours.fileno()])

    assert len(calls) == 2
    assert time.monotonic() - start < LONG / 2


def test_a_step_that_fails_is_logged_and_called_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop, "AFTER_A_FAILURE_SECONDS", 0.01)
    step, calls = ending(after=2)

    def failing() -> int:
        step()
        raise RuntimeError("out of order")

    run_forever(failing, idle_seconds=lambda: LONG)

    assert len(calls) == 2
    assert "out of order" in caplog.text


def test_the_signals_mean_what_they_meant_before_when_it_is_over() -> None:
    before = signal.getsignal(signal.SIGTERM)
    step, _calls = ending(after=1)

    run_forever(step, idle_seconds=lambda: LONG)

    assert signal.getsignal(signal.SIGTERM) is before


def test_the_alive_file_is_touched_while_steps_fail_and_a_missing_folder_ends_nothing(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "TOUCH_SECONDS", 0.0)
    monkeypatch.setattr(loop, "AFTER_A_FAILURE_SECONDS", 0.01)
    file = tmp_path / "alive"
    settings.ALIVE_FILE = str(file)
    touched = []
    step, calls = ending(after=3)

    def failing() -> int:
        touched.append(file.stat().st_mtime_ns)
        step()
        raise RuntimeError("of a test")

    run_forever(failing, idle_seconds=lambda: LONG)
    settings.ALIVE_FILE = str(tmp_path / "missing" / "alive")
    step, again = ending(after=2)
    run_forever(step, idle_seconds=lambda: 0.0)

    assert len(calls) == 3
    assert touched == sorted(set(touched))
    assert len(again) == 2
