"""A dispatcher with a child that the test plays."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tasks import registry
from tasks.worker.attempt import Attempt
from tasks.worker.dispatcher import COLLECT_SECONDS, Dispatcher
from tests.tasks.children import OneChild


@pytest.fixture
def child() -> OneChild:
    return OneChild()


@pytest.fixture
def dispatcher(child: OneChild) -> Iterator[Dispatcher]:
    made = Dispatcher(worker="w", slots=1, fork_server=cast(Any, child))
    made._pace_seconds = 0.001
    yield made
    made.close()


def attempt(name: str, **more: Any) -> Attempt:
    values = {"number": 1, "max_attempts": 5, "payload": "{}", "request_id": ""} | more
    return Attempt(
        task_id=name,
        spec=registry.find_registered_type("test.noop"),
        lease_ends=1e9,
        claimed_at=0.0,
        **values,
    )


def hand_out(dispatcher: Dispatcher, *attempts: Attempt) -> None:
    dispatcher.add(attempts)
    dispatcher.hand_out(0.0)


def test_a_child_killed_because_of_a_lost_run_does_not_blame_the_one_it_had_moved_on_to(
    dispatcher: Dispatcher, child: OneChild
) -> None:
    lost, bystander = attempt("a"), attempt("b")
    hand_out(dispatcher, lost, bystander)
    child.begins()
    child.answers("a")
    child.begins()

    dispatcher.lose([lost])
    dispatcher.receive(1.0)

    assert child.killed == [signal.SIGKILL]
    assert (dispatcher.results, dispatcher.waiting) == ((), (bystander,))


def test_a_child_that_dies_by_itself_blames_the_run_that_it_had_begun(
    dispatcher: Dispatcher, child: OneChild
) -> None:
    first, second = attempt("a"), attempt("b")
    hand_out(dispatcher, first, second)
    child.begins()
    child.answers("a")
    child.begins()
    child.buried.append((1, -signal.SIGKILL))

    dispatcher.receive(1.0)

    [(one, good), (other, bad)] = dispatcher.results
    assert (one, good["outcome"], other, bad["error"]["class"]) == (
        *(first, "SUCCEEDED"),
        *(second, "ChildDied"),
    )


def test_what_finds_no_place_keeps_its_turn(dispatcher: Dispatcher, child: OneChild) -> None:
    usual = dataclasses.replace(registry.find_registered_type("test.noop"), trusted_short=False)
    first, second, third = (attempt(name) for name in "abc")
    first.spec = second.spec = usual

    hand_out(dispatcher, first, second, third)

    assert (child.begins(), dispatcher.waiting) == ("a", (second, third))


def test_answers_are_collected_only_while_the_child_has_plenty_to_do(
    dispatcher: Dispatcher, child: OneChild
) -> None:
    many = dispatcher.wanted(0.0)
    hand_out(dispatcher, *(attempt(str(n)) for n in range(many)))
    assert 0 < dispatcher.collect_seconds() <= COLLECT_SECONDS
    assert dispatcher.awaited_slots() == []

    for n in range(many // 2 + 1):
        child.begins()
        child.answers(str(n))
    dispatcher.receive(1.0)

    assert dispatcher.collect_seconds() == 0
    assert dispatcher.awaited_slots() == list(dispatcher.slots)
    assert len(dispatcher.results) == many // 2 + 1


@pytest.mark.parametrize(("interrupted", "number"), [(True, 2), (False, 1)])
def test_a_child_whose_run_was_interrupted_gets_no_other_run(
    dispatcher: Dispatcher, child: OneChild, interrupted: bool, number: int
) -> None:
    stubborn = attempt("a")
    hand_out(dispatcher, stubborn)
    child.begins()
    stubborn.interrupted = interrupted  # the signal may still be on its way
    child.answers("a")

    dispatcher.receive(1.0)

    assert child.number == dispatcher.slots.open[0].number == number


def test_a_last_attempt_that_another_run_goes_before_does_not_begin_yet(
    dispatcher: Dispatcher, child: OneChild
) -> None:
    first, last = attempt("a"), attempt("b", max_attempts=1)
    dispatcher.add([first, last])

    assert dispatcher.beginning_last_attempts() == []
    dispatcher.hand_out(0.0)
    child.begins()
    child.answers("a")
    dispatcher.receive(1.0)

    assert dispatcher.beginning_last_attempts() == [last]


def test_a_last_attempt_waits_for_a_free_child_and_until_its_beginning_is_known(
    dispatcher: Dispatcher, child: OneChild
) -> None:
    first, last = attempt("a"), attempt("b", max_attempts=1)
    hand_out(dispatcher, first, last)

    assert (child.begins(), dispatcher.beginning_last_attempts()) == ("a", [])
    child.answers("a")
    dispatcher.receive(1.0)
    dispatcher.hand_out(1.0)
    assert (dispatcher.waiting, dispatcher.beginning_last_attempts()) == ((last,), [last])
    dispatcher.may_begin([last], {"b"})
    dispatcher.hand_out(1.0)
    assert child.begins() == "b"
