"""A child that is signalled ends the run that is meant, and none that came after it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tasks.child.child import Child
from tasks.errors import Cancelled
from tasks.worker.fork_client import SOCKET_KIND

Tell = Callable[[str], Any]


@pytest.fixture
def running() -> Iterator[tuple[Child, Tell]]:
    """A child at work on run "b", and how its worker tells it that a run is cancelled."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, SOCKET_KIND)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    child = Child(theirs, nowhere)
    child._current, child._may_interrupt = "b", True
    yield child, lambda name: ours.send(json.dumps(["cancel", name]).encode())
    ours.close()
    theirs.close()
    os.close(nowhere)


def test_the_signal_for_a_run_that_is_over_does_not_interrupt_the_next_one(
    running: tuple[Child, Tell],
) -> None:
    child, tell = running
    tell("a")

    child._interrupt()

    assert not child._is_cancelled()


@pytest.mark.parametrize("noticed", [False, True])
def test_the_run_that_is_meant_is_interrupted_whether_it_has_noticed_or_not(
    running: tuple[Child, Tell], noticed: bool
) -> None:
    child, tell = running
    tell("b")
    if noticed:
        assert child._is_cancelled()

    with pytest.raises(Cancelled):
        child._interrupt()


def test_a_signal_in_the_middle_of_a_look_is_heeded_right_after_it(
    running: tuple[Child, Tell], monkeypatch: pytest.MonkeyPatch
) -> None:
    child, tell = running
    look = child._read_cancellation

    def signalled() -> None:
        child._interrupt()
        look()

    monkeypatch.setattr(child, "_read_cancellation", signalled)
    tell("b")

    with pytest.raises(Cancelled):
        child._is_cancelled()
