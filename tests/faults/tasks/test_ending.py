"""SIGTERM during work, once and twice; several processes as one."""

from __future__ import annotations

import signal

import pytest

from tasks.models import TaskWorker
from tests.faults.tasks.queries import SETTINGS, let_go
from tests.support.task_workers import StartWorker, alive, children_of
from tests.support.waiting import PATIENCE_SECONDS, eventually
from tests.tasks.seen import add, events, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def test_sigterm_finishes_what_runs_and_takes_nothing_new(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1", **SETTINGS)
    first = add("fault.until", name="long")
    eventually(lambda: marks("long:1:start") == 1)

    worker.signal(signal.SIGTERM)
    eventually(lambda: "ending" in worker.said)
    second = add("test.mark", name="next")
    let_go("long", attempt=1)
    code = worker.process.wait(PATIENCE_SECONDS)

    assert code == 0
    assert events(first) == ["enqueued", "started", "succeeded"]
    assert (status(second), task(second).attempt) == ("PENDING", 0)
    assert not TaskWorker.objects.exists()


def test_a_second_sigterm_gives_everything_back(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1", **SETTINGS)
    long = add("fault.until", name="long", stubborn=True)
    eventually(lambda: marks("long:1:start") == 1)

    worker.signal(signal.SIGTERM)
    eventually(lambda: "ending" in worker.said)
    code, seconds = worker.end()

    assert code == 0
    assert seconds < 30  # of a minute
    assert (status(long), task(long).attempt) == ("PENDING", 0)
    assert events(long) == ["enqueued", "started", "returned"]
    assert marks("long:1:end") == 0


def test_several_processes_start_and_end_as_one(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    eventually(lambda: len(children_of(worker)) == 8)  # each: itself, a fork server, two children
    family = children_of(worker)

    code, _ = worker.end()

    assert code == 0
    assert not any(alive(pid) for pid in family)


def test_several_processes_end_with_the_one_that_started_them(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    family = children_of(worker)

    worker.signal(signal.SIGKILL)

    eventually(lambda: not any(alive(pid) for pid in family))
