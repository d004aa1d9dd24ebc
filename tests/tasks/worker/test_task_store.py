"""Reads and writes of a worker in the database, without its processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tasks import control
from tasks.enqueue import NewTask, enqueue_many
from tasks.models import Breaker, Task, TaskType, TaskWorker
from tasks.worker.attempt import Attempt
from tasks.worker.options import Options
from tasks.worker.worker import Worker
from tests.tasks.children import OneChild
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """Make a worker whose children the test plays."""
    monkeypatch.setattr("tasks.worker.worker.ForkServerClient", OneChild)
    made = Worker(Options(slots=1))
    yield made
    made.store.connection.close()
    made.dispatcher.close()


def claim(worker: Worker, limit: int) -> list[Attempt]:
    attempts, _ = worker.store.claim(limit)
    return attempts


def end(worker: Worker, attempts: list[Attempt], how: str = "succeeded") -> None:
    """Write that attempts have ended so."""
    name = worker.store.worker
    results = {
        "succeeded": lambda attempt: attempt.succeeded(0.1, None, name),
        "cancelled": lambda attempt: attempt.cancelled(name),
        "failed": lambda attempt: attempt.crashed("RuntimeError", "no", 0.1, name),
    }
    worker.dispatcher.put_back_results([(each, results[how](each)) for each in attempts])
    worker._write_results(math.inf, wait_seconds=0.0)


def heard_by(listener: Claimer) -> set[str]:
    listener.connection.rows("SELECT 1")
    return listener.connection.announced()


@pytest.mark.parametrize(("key", "told"), [("test.one_at_a_time", {"work"}), ("test.noop", set())])
def test_a_place_that_is_free_under_a_cap_is_told_to_those_who_sleep(
    worker: Worker, claimer: Any, key: str, told: set[str]
) -> None:
    other = claimer("w2")
    heard_by(other)
    TaskWorker.objects.create(name="w2", slots=1, sleeping=True)
    enqueue_many([NewTask(key)] * 2)
    heard_by(other)
    first = claim(worker, 1)

    end(worker, first)

    assert heard_by(other) == told
    end(worker, claim(worker, 1))
    assert heard_by(other) == set()  # nothing more waits


@pytest.mark.parametrize(("how", "told"), [("failed", {"work"}), ("succeeded", set())])
def test_a_retry_is_told_to_those_who_sleep_or_they_would_find_it_late(
    worker: Worker, claimer: Any, how: str, told: set[str]
) -> None:
    other = claimer("w2")
    TaskWorker.objects.create(name="w2", slots=1, sleeping=True)
    enqueue_many([NewTask("test.noop")])
    attempts = claim(worker, 1)
    heard_by(other)

    end(worker, attempts, how)

    assert heard_by(other) == told


def test_only_a_probe_that_succeeds_closes_the_breaker(worker: Worker) -> None:
    for how, breaker in (("cancelled", Breaker.OPEN), ("succeeded", Breaker.CLOSED)):
        add("test.noop")
        TaskType.objects.filter(key="test.noop").update(
            breaker=Breaker.OPEN, breaker_probe_at="2020-01-01T00:00Z"
        )

        [probe] = claim(worker, 1)
        end(worker, [probe], how)

        assert TaskType.objects.get(key="test.noop").breaker == breaker


def test_a_crowded_claim_is_followed_by_one_that_looks_for_all_owners(worker: Worker) -> None:
    many, other = uuid4(), uuid4()
    enqueue_many([NewTask("test.noop", owner_id=many)] * 40)
    enqueue_many([NewTask("test.noop", owner_id=other)])

    had = [claim(worker, 1)[0].owner_id for _ in range(3)]

    assert had == [str(many), str(other), str(many)]


def test_a_last_attempt_that_another_worker_has_leaves_the_dispatcher(worker: Worker) -> None:
    [name] = (made.id for made in enqueue_many([NewTask("test.noop", max_attempts=1)]))
    [attempt] = claim(worker, 1)
    worker.dispatcher.add([attempt])
    Task.objects.filter(id=name).update(worker="w2")

    worker.dispatcher.may_begin([attempt], worker.store.mark_begun([attempt]))

    assert (attempt.may_begin, worker.dispatcher.waiting) == (False, ())
    assert not task(name).begun


def test_the_worker_parks_paused_tasks_and_releases_them(worker: Worker) -> None:
    ours = uuid4()
    names = [made.id for made in enqueue_many([NewTask("test.noop", owner_id=ours)] * 3)]
    assert worker.store.park() == 0
    control.pause("test.noop", actor="ana", owner_id=ours)

    assert (worker.store.park(), worker.store.park()) == (3, 0)
    assert {task(name).parked for name in names} == {True}
    control.resume("test.noop", actor="ana", owner_id=ours)
    assert worker.store.park() == 0  # a few are let go at once
    claim(worker, 3)
    assert {status(name) for name in names} == {"RUNNING"}
