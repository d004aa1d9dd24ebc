"""Worker processes together: how they end, and how they share schedules."""

from __future__ import annotations

import signal
import time
from datetime import timedelta

import pytest

from tasks.models import Schedule, Task, TaskWorker
from tasks.schedules import create_schedule
from tests.tasks.seen import add, events, marks, status, task
from tests.tasks.workers import StartWorker, alive, children_of, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

SHORT = ("--lease", "2")


def test_sigterm_finishes_what_runs_and_takes_nothing_new(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    first = add("test.slow", name="long", seconds=3)
    eventually(lambda: marks("long:start") == 1)
    second = add("test.mark", name="next")

    code, seconds = worker.end()

    assert code == 0
    assert 0.5 < seconds < 15
    assert status(first) == "SUCCEEDED"
    assert (status(second), task(second).attempt) == ("PENDING", 0)
    assert not TaskWorker.objects.exists()


def test_a_second_sigterm_gives_everything_back(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    long = add("test.slow", name="long", seconds=60)
    eventually(lambda: marks("long:start") == 1)

    worker.signal(signal.SIGTERM)
    eventually(lambda: "ending" in worker.said)
    code, seconds = worker.end()

    assert code == 0
    assert seconds < 10
    assert (status(long), task(long).attempt) == ("PENDING", 0)
    assert events(long)[-1] == "returned"


def test_several_processes_start_and_end_as_one(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    eventually(lambda: len(children_of(worker)) == 6)  # each worker, its nursery, and a child
    family = children_of(worker)

    code, _ = worker.end()

    assert code == 0
    assert not any(alive(pid) for pid in family)


def test_several_processes_end_with_the_one_that_started_them(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    family = children_of(worker)

    worker.signal(signal.SIGKILL)

    eventually(lambda: not any(alive(pid) for pid in family), 15)


def test_two_schedulers_enqueue_each_time_once(start_worker: StartWorker) -> None:
    made = [
        create_schedule(name=f"s{n}", cron="* * * * *", type_key="test.noop", catch_up=True)
        for n in range(5)
    ]
    for schedule in made:
        Schedule.objects.filter(id=schedule.id).update(
            next_at=schedule.next_at - timedelta(minutes=30)
        )
    for _ in range(3):
        start_worker(*SHORT)

    eventually(lambda: Task.objects.filter(status="SUCCEEDED").count() >= 150)
    time.sleep(1)

    slots = list(Task.objects.values_list("idempotency_key", flat=True))
    assert len(set(slots)) == len(slots)
    assert len(slots) in (150, 155)  # a minute may have begun meanwhile


def test_a_child_in_which_runs_left_much_behind_is_replaced(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    first = add("test.leak")
    eventually(lambda: status(first) == "SUCCEEDED")
    before = children_of(worker)

    names = [add("test.noop") for _ in range(120)]

    eventually(lambda: all(status(name) == "SUCCEEDED" for name in names))
    assert children_of(worker) != before
    assert not Task.objects.filter(attempt__gt=1).exists()
