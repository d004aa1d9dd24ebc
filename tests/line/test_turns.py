"""Turns at a job: who leads, who follows, in which order, and who gets which error."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import InterfaceError, OperationalError

from pipeline.line import turns
from pipeline.line.handover import Turn
from pipeline.line.turns import Turns
from tests.support.waiting import PATIENCE_SECONDS, eventually

JOB = uuid4()


class Runner:
    """Does batches as a test wants: each request's result is its own text, in capitals."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_go_on = threading.Event()
        self.is_inside = threading.Event()
        self.broken: dict[str, BaseException] = {}

    def __call__(self, job_id: UUID, batch: Sequence[Turn[str, str]]) -> None:
        self.batches.append([turn.request for turn in batch])
        self.is_inside.set()
        if len(self.batches) == 1:
            assert self.may_go_on.wait(PATIENCE_SECONDS)
        for turn in batch:
            turn.result = turn.request.upper()
            if turn.request in self.broken:
                raise self.broken[turn.request]
            if turn.request.startswith("refuse"):
                turn.result, turn.error = None, LookupError(turn.request)


class Callers:
    """Threads that take a turn each, one after the other, while the first is still inside."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.turns = runner, Turns(runner)
        self.answers: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []

    def call(self, *requests: str, job_id: UUID = JOB) -> None:
        for request in requests:
            thread = threading.Thread(target=self._take, args=(job_id, request))
            self._threads.append(thread)
            before = self._queued(job_id)
            thread.start()
            if len(self._threads) == 1:
                assert self.runner.is_inside.wait(PATIENCE_SECONDS)
            else:
                eventually(lambda before=before: self._queued(job_id) > before)  # type: ignore[misc]

    def _queued(self, job_id: UUID) -> int:
        line = self.turns._lines.get(job_id)
        return len(line.waiting) if line else 0

    def _take(self, job_id: UUID, request: str) -> None:
        try:
            self.answers[request] = self.turns.take_turn(job_id, request)
        except BaseException as error:
            self.answers[request] = error

    def finish(self) -> dict[str, Any]:
        self.runner.may_go_on.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
        assert self.turns._lines == {}
        return self.answers


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def callers(runner: Runner) -> Callers:
    return Callers(runner)


def test_a_thread_alone_waits_for_nobody(runner: Runner, callers: Callers) -> None:
    runner.may_go_on.set()

    assert callers.turns.take_turn(JOB, "a") == "A"
    assert callers.turns.take_turn(JOB, "b") == "B"
    assert runner.batches == [["a"], ["b"]]


def test_those_who_waited_go_together_in_the_order_in_which_they_came(
    runner: Runner, callers: Callers
) -> None:
    callers.call("a", "b", "c", "d")

    answers = callers.finish()

    assert runner.batches == [["a"], ["b", "c", "d"]]
    assert answers == {"a": "A", "b": "B", "c": "C", "d": "D"}


def test_a_batch_has_a_largest_size(
    runner: Runner, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LARGEST_BATCH", 2)
    callers.call("a", "b", "c", "d", "e")

    callers.finish()

    assert runner.batches == [["a"], ["b", "c"], ["d", "e"]]


def test_a_refusal_is_its_owners_alone(runner: Runner, callers: Callers) -> None:
    callers.call("a", "b", "refuse", "d")

    answers = callers.finish()

    assert isinstance(answers.pop("refuse"), LookupError)
    assert answers == {"a": "A", "b": "B", "d": "D"}
    assert runner.batches == [["a"], ["b", "refuse", "d"]]


def test_an_unexpected_error_has_each_tried_alone(runner: Runner, callers: Callers) -> None:
    runner.broken["c"] = ValueError("c is broken")
    callers.call("a", "b", "c", "d")

    answers = callers.finish()

    assert runner.batches == [["a"], ["b", "c", "d"], ["b"], ["c"], ["d"]]
    assert isinstance(answers.pop("c"), ValueError)
    assert answers == {"a": "A", "b": "B", "d": "D"}


def test_a_lost_connection_or_a_busy_job_is_everybodys_and_nothing_is_tried_again(
    runner: Runner, callers: Callers
) -> None:
    runner.broken["c"] = OperationalError("lock timeout")
    callers.call("a", "b", "c")

    answers = callers.finish()

    assert runner.batches == [["a"], ["b", "c"]]
    assert answers.pop("a") == "A"
    assert {type(answer) for answer in answers.values()} == {OperationalError}
    assert answers["b"] is not answers["c"]  # an error that two threads raise has two tracebacks


class Picky(OperationalError):
    """Error that cannot be made again from its arguments, as those of some drivers."""

    def __init__(self, *, code: int) -> None:
        super().__init__("picky", code)


class Interrupted(SystemExit):
    """End of one thread, such as a server sends it to the one that takes too long."""


@pytest.mark.parametrize("error", [Picky(code=7), InterfaceError("closed"), Interrupted(3)])
def test_everybody_gets_an_error_that_they_can_raise_whatever_the_first_one_got(
    runner: Runner, callers: Callers, error: BaseException
) -> None:
    error.__cause__ = cause = LookupError("what the driver said")
    runner.broken["d"] = error
    callers.call("a", "b", "c", "d", "e")

    answers = callers.finish()

    assert answers.pop("a") == "A"
    assert answers.pop("b") is error, "it led the batch"
    kind = InterfaceError if isinstance(error, InterfaceError) else OperationalError
    assert [type(answers[each]) for each in "cde"] == [kind] * 3
    assert len({id(each) for each in answers.values()}) == 3
    assert {each.__cause__ for each in answers.values()} == {cause}


def test_waiting_too_long_is_refused_and_takes_nobody_along(
    runner: Runner, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT_SECONDS", 0.1)
    callers.call("a", "b")
    eventually(lambda: "b" in callers.answers)

    answers = callers.finish()

    assert isinstance(answers["b"], OperationalError)
    assert answers["a"] == "A"
    assert runner.batches == [["a"]]


def test_other_jobs_do_not_wait(runner: Runner, callers: Callers) -> None:
    callers.call("a")

    assert callers.turns.take_turn(uuid4(), "b") == "B"
    callers.finish()


def test_who_is_called_at_the_last_moment_waits_for_the_result(runner: Runner) -> None:
    late: Turn[str, str] = Turn("late")  # its time is over, but a leader has taken it along
    waits = threading.Thread(target=Turns(runner)._leave, args=(JOB, late))

    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    late.called.set()
    waits.join(PATIENCE_SECONDS)

    assert not waits.is_alive()


def test_a_leader_that_fails_outside_a_batch_leaves_the_job_to_the_next(
    monkeypatch: pytest.MonkeyPatch, runner: Runner
) -> None:
    runner.may_go_on.set()
    line = Turns[str, str](runner)
    with monkeypatch.context() as broken:
        broken.setattr(Turns, "_complete_until", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            line.take_turn(JOB, "first")

    assert line.take_turn(JOB, "second") == "SECOND"
