"""The slot that a worker keeps for urgent attempts, with children that the test plays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from tasks import registry
from tasks.worker.attempt import Attempt
from tasks.worker.dispatcher import Dispatcher
from tasks.worker.slots import SLOW_SECONDS
from tests.tasks.children import SeveralChildren


@pytest.fixture
def children() -> SeveralChildren:
    return SeveralChildren()


@pytest.fixture
def dispatcher(children: SeveralChildren) -> Iterator[Dispatcher]:
    """A dispatcher with one slot, and one that is kept."""
    made = Dispatcher(worker="w", slots=1, fork_server=cast(Any, children), keeps_slot=True)
    yield made
    made.close()


def attempt(name: str, *, urgent: bool = False, **more: Any) -> Attempt:
    usual = registry.find_registered_type("test.mark")
    values = {"number": 1, "max_attempts": 5, "payload": "{}", "request_id": ""} | more
    spec = replace(usual, urgent=urgent)
    return Attempt(task_id=name, spec=spec, lease_ends=1e9, claimed_at=0.0, **values)


def hand_out(dispatcher: Dispatcher, *attempts: Attempt) -> None:
    dispatcher.add(attempts)
    dispatcher.hand_out(1.0)


def test_it_is_used_by_urgent_attempts_only_and_only_once_the_others_are_taken(
    dispatcher: Dispatcher, children: SeveralChildren
) -> None:
    first, second = attempt("first", urgent=True), attempt("second", urgent=True)
    usual = attempt("usual")
    hand_out(dispatcher, first, usual, second)

    assert [child.begins() for child in children.children] == ["first", "second"]
    assert dispatcher.waiting == (usual,)


def test_urgent_attempts_alone_are_wanted_once_the_others_are_slow(dispatcher: Dispatcher) -> None:
    free = dispatcher.urgent_claim_time()
    hand_out(dispatcher, attempt("long"))
    wanted, from_ = dispatcher.wanted(1.0 + SLOW_SECONDS), dispatcher.urgent_claim_time()
    dispatcher.add([attempt("urgent", urgent=True)])
    coming = dispatcher.urgent_claim_time()
    dispatcher.hand_out(2.0)
    taken = dispatcher.urgent_claim_time()

    assert (free, coming, taken) == (math.inf, math.inf, math.inf)
    assert (wanted, from_) == (0, 1.0 + SLOW_SECONDS)


def test_an_urgent_run_does_not_count_against_the_other_slots(
    dispatcher: Dispatcher, children: SeveralChildren
) -> None:
    hand_out(dispatcher, attempt("long"))
    hand_out(dispatcher, attempt("urgent", urgent=True))
    children.children[0].answers("long")
    dispatcher.receive(2.0)

    assert dispatcher.wanted(2.0) == 1
    assert not dispatcher.is_idle


def test_only_an_urgent_last_attempt_is_about_to_begin_there(dispatcher: Dispatcher) -> None:
    hand_out(dispatcher, attempt("long"))
    usual = attempt("usual", max_attempts=1)
    urgent = attempt("urgent", urgent=True, max_attempts=1)
    dispatcher.add([usual, urgent])

    assert dispatcher.beginning_last_attempts() == [urgent]


def test_without_urgent_types_no_slot_is_kept(children: SeveralChildren) -> None:
    made = Dispatcher(worker="w", slots=1, fork_server=cast(Any, children))
    hand_out(made, attempt("long"), attempt("urgent", urgent=True))

    assert len(children.children) == 1
    assert made.urgent_claim_time() == math.inf
    assert [each.task_id for each in made.waiting] == ["urgent"]
    made.close()
