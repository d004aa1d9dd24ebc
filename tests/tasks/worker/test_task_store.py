"""What a worker reads and tells in the database, without its processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import pytest

from tasks import control
from tasks.enqueue import NewTask, enqueue_many
from tasks.models import Task, TaskType, TaskWorker
from tasks.models.statuses import Breaker
from tasks.worker.dispatcher import Desk
from tasks.worker.task_store import Ledger
from tasks.worker.worker import Options
from tests.tasks.children import OneChild
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ledger(transactional_db: None) -> Iterator[Ledger]:
    desk = Desk(worker="w1", slots=2, nursery=cast(Any, OneChild()))
    made = Ledger(desk, Options())
    yield made
    made.close()
    desk.close()


def end(ledger: Ledger, how: str = "succeeded") -> None:
    """Let what waits at the desk end, and write that."""
    while ledger.desk.waiting:
        run = ledger.desk.waiting.popleft()
        ended = run.succeeded(0.1, None, "w1")
        if how == "cancelled":
            ended = run.cancelled("w1")
        if how == "failed":
            ended = run.fell("RuntimeError", "no", 0.1, "w1")
        ledger.desk.ends.append((run, ended))
    ledger.flush(math.inf, wait_seconds=0.0)


def heard_by(listener: Claimer) -> set[str]:
    listener.store.rows("SELECT 1")
    return listener.store.listen()


@pytest.mark.parametrize(("key", "told"), [("test.one_at_a_time", {"work"}), ("test.noop", set())])
def test_a_place_that_is_free_under_a_cap_is_told_to_those_who_sleep(
    ledger: Ledger, claimer: Any, key: str, told: set[str]
) -> None:
    other = claimer("w2")
    heard_by(other)
    TaskWorker.objects.create(name="w2", slots=1, sleeping=True)
    enqueue_many([NewTask(key)] * 2)
    heard_by(other)
    ledger.claim(1)

    end(ledger)

    assert heard_by(other) == told
    ledger.claim(1)
    end(ledger)
    assert heard_by(other) == set()  # nothing more waits


@pytest.mark.parametrize(("how", "told"), [("failed", {"work"}), ("succeeded", set())])
def test_a_retry_is_told_to_those_who_sleep_or_they_would_find_it_late(
    ledger: Ledger, claimer: Any, how: str, told: set[str]
) -> None:
    other = claimer("w2")
    TaskWorker.objects.create(name="w2", slots=1, sleeping=True)
    enqueue_many([NewTask("test.noop")])
    ledger.claim(1)
    heard_by(other)

    end(ledger, how)

    assert heard_by(other) == told


def test_only_a_probe_that_succeeds_closes_the_breaker(ledger: Ledger) -> None:
    for how, breaker in (("cancelled", Breaker.OPEN), ("succeeded", Breaker.CLOSED)):
        add("test.noop")
        TaskType.objects.filter(key="test.noop").update(
            breaker=Breaker.OPEN, breaker_probe_at="2020-01-01T00:00Z"
        )

        assert ledger.claim(1)[0] == 1
        end(ledger, how)

        assert TaskType.objects.get(key="test.noop").breaker == breaker


def test_a_last_attempt_that_somebody_else_has_by_now_leaves_the_desk(ledger: Ledger) -> None:
    [name] = (made.id for made in enqueue_many([NewTask("test.noop", max_attempts=1)]))
    ledger.claim(1)
    [run] = ledger.desk.waiting
    Task.objects.filter(id=name).update(worker="w2")

    ledger.begin([run])

    assert (run.may_begin, list(ledger.desk.waiting)) == (False, [])
    assert not task(name).begun


def test_paused_tasks_are_parked_and_let_go_by_the_worker(ledger: Ledger) -> None:
    ours = uuid4()
    names = [made.id for made in enqueue_many([NewTask("test.noop", owner_id=ours)] * 3)]
    assert ledger.park() == 0
    control.pause("test.noop", actor="ana", owner_id=ours)

    assert (ledger.park(), ledger.park()) == (3, 0)
    assert {task(name).parked for name in names} == {True}
    control.resume("test.noop", actor="ana", owner_id=ours)
    assert ledger.park() == 0  # a few are let go at once
    ledger.claim(3)
    assert {status(name) for name in names} == {"RUNNING"}
