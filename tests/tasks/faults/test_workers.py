"""Workers that die, stop, or are told to end, with real processes and short leases."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tasks.control import cancel
from tasks.models import Task, TaskEvent, TaskWorker
from tests.tasks.seen import add, events, marks, status, task
from tests.tasks.workers import StartWorker, alive, children_of, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

SHORT = ("--lease", "2")


def test_after_kill_9_of_a_worker_another_one_runs_its_tasks(start_worker: StartWorker) -> None:
    first = start_worker(*SHORT)
    name = str(add("test.slow", name="long", seconds=3))
    eventually(lambda: marks("long:start") == 1)
    family = children_of(first)

    first.signal(signal.SIGKILL)
    start_worker(*SHORT)

    assert len(family) == 3  # the nursery, and two children
    eventually(lambda: not any(alive(pid) for pid in family), 5)
    eventually(lambda: marks("long:end") == 1)
    [found] = Task.objects.filter(id=name)
    eventually(lambda: status(found.id) == "SUCCEEDED")
    assert events(found.id) == [
        *["enqueued", "started", "lease_lost", "retry_scheduled", "started", "succeeded"]
    ]
    assert task(found.id).errors[0]["class"] == "LeaseExpired"


def test_a_worker_that_slept_through_its_lease_is_refused(start_worker: StartWorker) -> None:
    first = start_worker(*SHORT)
    long = add("test.slow", name="long", seconds=3)
    eventually(lambda: marks("long:start") == 1)

    first.signal(signal.SIGSTOP)
    start_worker(*SHORT)
    eventually(lambda: marks("long:start") == 2)
    eventually(lambda: marks("long:end") >= 1)  # the first child went on, and has answered
    first.signal(signal.SIGCONT)

    eventually(lambda: status(long) == "SUCCEEDED")
    eventually(lambda: "refused" in first.said or "is lost" in first.said)
    assert events(long).count("succeeded") == 1
    assert task(long).attempt == 2
    assert first.process.poll() is None


def test_a_killed_child_harms_only_its_own_attempt(start_worker: StartWorker) -> None:
    worker = start_worker(*SHORT, "--slots", "3")
    poison = add("test.die")
    innocent = [add("test.slow", name="good", seconds=2) for _ in range(2)]

    eventually(lambda: status(poison) == "DEAD")
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in innocent))

    assert [task(each).attempt for each in innocent] == [1, 1]
    assert task(poison).attempt == 3
    assert [error["class"] for error in task(poison).errors] == ["ChildDied"] * 3
    assert "SIGKILL" in task(poison).errors[0]["message"]
    assert worker.process.poll() is None


def test_a_hog_fails_alone(start_worker: StartWorker) -> None:
    start_worker(*SHORT)
    innocent = add("test.slow", name="good", seconds=2)
    hog = add("test.hog")

    eventually(lambda: status(hog) == "DEAD")
    eventually(lambda: status(innocent) == "SUCCEEDED")

    assert [error["class"] for error in task(hog).errors] == ["MemoryError"] * 2
    assert task(innocent).attempt == 1


def test_a_cancelled_task_stops_by_itself(start_worker: StartWorker) -> None:
    start_worker()
    long = add("test.slow", name="long", seconds=60)
    eventually(lambda: marks("long:start") == 1)

    assert cancel(long, actor="ana") == "CANCELLING"

    assert eventually(lambda: status(long) == "CANCELLED") < 5  # no heartbeat was waited for
    assert marks("long:stopped") == 1
    assert events(long) == ["enqueued", "started", "cancel_requested", "cancelled"]


def test_a_stubborn_child_is_killed_after_its_grace(start_worker: StartWorker) -> None:
    start_worker()
    stubborn = add("test.stubborn", name="mule", seconds=60)
    eventually(lambda: marks("mule:start") == 1)

    cancel(stubborn, actor="ana")

    eventually(lambda: status(stubborn) == "CANCELLED")
    assert marks("mule:end") == 0
    after = add("test.mark", name="after")
    eventually(lambda: status(after) == "SUCCEEDED")


def test_a_task_that_takes_too_long_is_ended_and_retried(start_worker: StartWorker) -> None:
    start_worker()
    endless = add("test.endless", name="sisyphus")

    eventually(lambda: status(endless) == "DEAD")

    assert [error["class"] for error in task(endless).errors] == ["TimedOut"] * 2
    assert "1 second" in task(endless).errors[0]["message"]


def test_short_tasks_behind_a_slow_one_are_had_by_others(start_worker: StartWorker) -> None:
    start_worker("--slots", "2")
    warm = [add("test.noop") for _ in range(400)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in warm[-5:]))

    slow = add("test.short_slow", name="slow", seconds=4)
    quick = [add("test.noop") for _ in range(100)]

    assert eventually(lambda: not Task.objects.filter(id__in=quick, status="PENDING").exists()) < 4
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


def test_a_worker_with_a_wrong_clock_changes_nothing(start_worker: StartWorker) -> None:
    start_worker(*SHORT, TASKS_TEST_CLOCK_OFFSET="3600")
    start_worker(*SHORT, TASKS_TEST_CLOCK_OFFSET="-3600")
    soon = add("test.slow", name="long", seconds=4)
    from tasks.enqueue import enqueue

    later = enqueue("test.mark", {"name": "later"}, delay_seconds=600).id

    eventually(lambda: status(soon) == "SUCCEEDED")
    time.sleep(1)

    assert task(soon).attempt == 1
    assert status(later) == "PENDING"


def test_what_is_due_is_found_though_the_notification_was_lost(start_worker: StartWorker) -> None:
    start_worker()
    eventually(lambda: TaskWorker.objects.filter(sleeping=True).exists())

    from django.db import connection

    from tasks.enqueue import NewTask, as_parameter
    from tasks.sql import ENQUEUE

    rows, [name] = as_parameter([NewTask("test.mark", {"name": "quiet"})])
    with connection.cursor() as cursor:
        cursor.execute(ENQUEUE, {"tasks": rows})  # and nobody is told

    assert eventually(lambda: status(name) == "SUCCEEDED") < 10


def test_a_type_that_no_worker_knows_waits_for_one_that_does(start_worker: StartWorker) -> None:
    from tasks import types

    start_worker(DJANGO_SETTINGS_MODULE="pipeline.settings")
    eventually(TaskWorker.objects.exists)
    types.sync()
    new = add("test.mark", name="new")
    known = add("demo.sleep", seconds=0)
    eventually(lambda: status(known) == "SUCCEEDED")

    assert (status(new), task(new).attempt) == ("PENDING", 0)
    start_worker()
    eventually(lambda: status(new) == "SUCCEEDED")


def test_the_loss_of_its_nursery_is_survived(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    first = add("test.mark", name="first")
    eventually(lambda: status(first) == "SUCCEEDED")

    for pid in children_of(worker):
        os.kill(pid, signal.SIGKILL)
    second = add("test.mark", name="second")

    eventually(lambda: status(second) == "SUCCEEDED")
