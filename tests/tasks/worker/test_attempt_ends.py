"""How attempts end: the fence, leases, retries, dead letters, the breaker, cancelling."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tasks import control, errors
from tasks.enqueue import enqueue
from tasks.models import Status
from tasks.worker.task_store import REAP
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, events, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def let_leases_expire() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_task SET lease_until = lease_until - interval '1 hour'")


def reap(worker: Claimer) -> int:
    return len(worker.connection.rows(REAP, {"since": None, "most": 1_000}))


def test_only_who_has_the_task_may_end_it(claimer: Any) -> None:
    name = add("test.noop")
    first, second = claimer("w1"), claimer("w2")
    [stale] = first.claim(lease=0.0)
    reap(second)
    [run] = second.claim()

    assert first.succeed(stale) == 0
    assert first.fail(stale) == 0
    assert first.beat(stale) == {}
    assert (status(name), task(name).attempt) == ("RUNNING", 2)
    assert second.succeed(run) == 1
    assert second.succeed(run) == 0
    assert events(name).count("succeeded") == 1


def test_attempts_are_bounded_however_workers_die(claimer: Any) -> None:
    name = enqueue("test.noop", max_attempts=3).id
    worker = claimer()

    for _ in range(3):
        assert worker.begin(*worker.claim()) == 1
        let_leases_expire()
        assert reap(worker) == 1

    assert (status(name), worker.claim(), reap(worker)) == ("DEAD", [], 0)
    assert [error["class"] for error in task(name).errors] == ["LeaseExpired"] * 3
    assert events(name)[-2:] == ["lease_lost", "dead"]


def test_a_last_attempt_that_never_began_is_not_lost_with_its_worker(claimer: Any) -> None:
    name = enqueue("test.noop", max_attempts=1).id
    worker = claimer()

    for _ in range(3):
        [run] = worker.claim()
        let_leases_expire()
        assert reap(worker) == 1

    assert (status(name), task(name).attempt, task(name).errors) == ("PENDING", 0, [])
    assert events(name)[-2:] == ["lease_lost", "returned"]
    assert worker.begin(run) == 0
    worker.begin(*worker.claim())
    let_leases_expire()
    reap(worker)
    assert status(name) == "DEAD"


def test_of_two_workers_with_the_same_attempt_only_the_second_has_it(claimer: Any) -> None:
    name = enqueue("test.noop", max_attempts=1).id
    first, second = claimer("w1"), claimer("w2")
    [stale] = first.claim()
    let_leases_expire()
    reap(second)
    [run] = second.claim()

    first.give_back(stale)

    assert stale.number == run.number
    assert (first.begin(stale), first.beat(stale), first.succeed(stale)) == (0, {}, 0)
    assert (status(name), task(name).worker) == ("RUNNING", "w2")
    assert (second.begin(run), second.succeed(run)) == (1, 1)


def test_an_attempt_before_the_last_counts_as_soon_as_it_is_claimed(claimer: Any) -> None:
    name = enqueue("test.noop", max_attempts=2).id
    worker = claimer()
    worker.claim()
    let_leases_expire()

    reap(worker)

    assert (status(name), task(name).attempt) == ("PENDING", 1)


def test_a_lease_that_is_renewed_is_not_reaped(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    [run] = worker.claim(lease=0.0)

    assert worker.beat(run) == {str(name): False}
    assert reap(worker) == 0


def test_a_failure_is_kept_and_retried_after_its_backoff(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.fail(*worker.claim())

    made = task(name)
    assert made.status == "PENDING"
    assert 29 < (made.run_after - made.started_at).total_seconds() < 46
    assert made.errors[0]["class"] == "Boom"
    assert made.errors[0]["attempt"] == 1
    assert events(name) == ["enqueued", "started", "failed", "retry_scheduled"]
    assert worker.claim() == []


@pytest.mark.parametrize(("how", "end"), [("fatal", "DEAD"), ("discard", "DISCARDED")])
def test_a_handler_can_give_up_at_once(claimer: Any, how: str, end: str) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.fail(*worker.claim(), how=how)

    assert status(name) == end


def test_what_is_given_back_has_lost_no_attempt(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.give_back(*worker.claim())

    assert (status(name), task(name).attempt) == ("PENDING", 0)
    [run] = worker.claim()
    assert run.number == 1


def test_one_end_that_cannot_be_kept_takes_no_other_along(claimer: Any) -> None:
    good, bad = add("test.noop"), add("test.noop")
    worker = claimer()
    first, second = worker.claim()

    worker.connection.acknowledge(
        [first.succeeded(0.1, "fine", "w1"), second.succeeded(0.1, "a\0b", "w1")]
    )

    assert (status(good), task(good).result) == ("SUCCEEDED", "fine")
    assert (status(bad), task(bad).errors[0]["class"]) == ("DEAD", "Unkeepable")


def test_a_pending_task_is_cancelled_at_once(claimer: Any) -> None:
    name = add("test.noop")

    assert control.cancel(name, actor="ana") is Status.CANCELLED
    assert control.cancel(name, actor="ben") is Status.CANCELLED
    assert claimer().claim() == []
    assert events(name) == ["enqueued", "cancel_requested", "cancelled"]


def test_a_running_task_is_cancelled_when_its_worker_says_so(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    [run] = worker.claim()

    assert control.cancel(name, actor="ana") is Status.CANCELLING
    assert worker.beat(run) == {str(name): True}
    assert worker.fail(run) == 1
    assert status(name) == "CANCELLED"


def test_a_cancelled_task_of_a_dead_worker_is_not_run_again(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    worker.claim()
    control.cancel(name, actor="ana")
    let_leases_expire()

    reap(worker)

    assert (status(name), worker.claim()) == ("CANCELLED", [])


def test_what_has_ended_or_is_not_there_or_not_yours_cannot_be_cancelled(claimer: Any) -> None:
    name = enqueue("test.noop", owner_id=uuid4()).id
    with pytest.raises(errors.TaskNotFound):
        control.cancel(name, actor="ana", owner_id=uuid4())
    with pytest.raises(errors.TaskNotFound):
        control.cancel(uuid4(), actor="ana")
    worker = claimer()
    worker.succeed(*worker.claim())

    with pytest.raises(errors.WrongStatus):
        control.cancel(name, actor="ana")
