"""A worker's desk with a child that the test plays."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tasks import registry
from tasks.worker.attempt import Run
from tasks.worker.dispatcher import Desk
from tests.tasks.children import OneChild


@pytest.fixture
def child() -> OneChild:
    return OneChild()


@pytest.fixture
def desk(child: OneChild) -> Iterator[Desk]:
    made = Desk(worker="w", slots=1, nursery=cast(Any, child))
    made._pace_seconds = 0.001
    yield made
    made.close()


def run(name: str, **more: Any) -> Run:
    values = {"attempt": 1, "max_attempts": 5, "payload": "{}", "request_id": ""} | more
    kind = registry.find("test.noop")
    return Run(id=name, kind=kind, lease_ends=1e9, claimed=0.0, **values)


def hand_out(desk: Desk, *runs: Run) -> None:
    desk.waiting.extend(runs)
    desk.hand_out(0.0)


def test_a_child_killed_because_of_a_lost_run_does_not_blame_the_one_it_had_moved_on_to(
    desk: Desk, child: OneChild
) -> None:
    lost, innocent = run("a"), run("b")
    hand_out(desk, lost, innocent)
    child.begins()
    child.answers("a")
    child.begins()

    desk.lose([lost])
    desk.hear(1.0)

    assert child.killed == [signal.SIGKILL]
    assert (desk.ends, list(desk.waiting)) == ([], [innocent])


def test_a_child_that_dies_by_itself_blames_the_run_that_it_had_begun(
    desk: Desk, child: OneChild
) -> None:
    first, second = run("a"), run("b")
    hand_out(desk, first, second)
    child.begins()
    child.answers("a")
    child.begins()
    child.buried.append((1, -signal.SIGKILL))

    desk.hear(1.0)

    [(one, good), (other, bad)] = desk.ends
    assert (one, good["outcome"], other, bad["error"]["class"]) == (
        *(first, "SUCCEEDED"),
        *(second, "ChildDied"),
    )


@pytest.mark.parametrize(("interrupted", "number"), [(True, 2), (False, 1)])
def test_a_child_whose_run_was_interrupted_gets_no_other_run(
    desk: Desk, child: OneChild, interrupted: bool, number: int
) -> None:
    stubborn = run("a")
    hand_out(desk, stubborn)
    child.begins()
    stubborn.interrupted = interrupted  # the signal may still be on its way
    child.answers("a")

    desk.hear(1.0)

    assert child.number == desk.slots[0].number == number


def test_a_last_attempt_that_another_run_goes_before_does_not_begin_yet(
    desk: Desk, child: OneChild
) -> None:
    first, last = run("a"), run("b", max_attempts=1)
    desk.waiting.extend([first, last])

    assert desk.last_attempts() == []
    desk.hand_out(0.0)
    child.begins()
    child.answers("a")
    desk.hear(1.0)

    assert desk.last_attempts() == [last]


def test_a_last_attempt_waits_for_a_free_child_and_until_its_beginning_is_known(
    desk: Desk, child: OneChild
) -> None:
    first, last = run("a"), run("b", max_attempts=1)
    hand_out(desk, first, last)

    assert (child.begins(), desk.last_attempts()) == ("a", [])
    child.answers("a")
    desk.hear(1.0)
    desk.hand_out(1.0)
    assert (list(desk.waiting), desk.last_attempts()) == ([last], [last])
    last.may_begin = True
    desk.hand_out(1.0)
    assert child.begins() == "b"
