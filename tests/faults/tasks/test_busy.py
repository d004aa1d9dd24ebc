"""Workers under load: claims while children are busy, and children that grow."""

from __future__ import annotations

import pytest

from tasks.models import Task, TaskEvent
from tests.support.task_workers import StartWorker, children_of
from tests.support.waiting import eventually
from tests.tasks.seen import add, status

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def test_short_tasks_behind_a_slow_one_are_had_by_others(start_worker: StartWorker) -> None:
    start_worker("--slots", "2")
    warm = [add("test.noop") for _ in range(400)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in warm[-5:]))

    slow = add("test.short_slow", name="slow", seconds=20)
    quick = [add("test.noop") for _ in range(100)]

    assert eventually(lambda: not Task.objects.filter(id__in=quick, status="PENDING").exists()) < 19
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in quick))
    assert status(slow) == "RUNNING"


def test_a_busy_worker_does_not_keep_claiming_what_it_cannot_run(start_worker: StartWorker) -> None:
    start_worker("--slots", "2")
    warm = [add("test.noop") for _ in range(400)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in warm[-5:]))

    for _ in range(2):
        add("test.slow", name="slow", seconds=4)
    quick = [add("test.noop") for _ in range(200)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in quick))

    assert TaskEvent.objects.filter(kind="returned").count() < 2 * len(quick)


def test_a_child_in_which_runs_left_much_behind_is_replaced(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    first = add("test.leak")
    eventually(lambda: status(first) == "SUCCEEDED")
    before = children_of(worker)

    names = [add("test.noop") for _ in range(120)]

    eventually(lambda: all(status(name) == "SUCCEEDED" for name in names))
    assert children_of(worker) != before
    assert not Task.objects.filter(attempt__gt=1).exists()
