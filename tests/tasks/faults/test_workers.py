"""Workers that die, stop, or are told to end, with real processes and short leases."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tasks.control import cancel
from tasks.models import Task, TaskWorker
from tests.tasks.seen import add, events, marks, status, task
from tests.tasks.workers import StartWorker, eventually
from tests.tasks.workers import TaskWorker as Process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

SHORT = ("--lease", "2")


def children_of(process: Process) -> set[int]:
    """The nursery and the children of a worker: what is in sessions it started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(text.split()[0])] = int(text.rpartition(")")[2].split()[1])
    found = {process.process.pid}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process.process.pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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


def test_short_tasks_behind_a_slow_one_are_had_by_others(start_worker: StartWorker) -> None:
    start_worker("--slots", "2")
    warm = [add("test.noop") for _ in range(400)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in warm[-5:]))

    slow = add("test.short_slow", name="slow", seconds=4)
    quick = [add("test.noop") for _ in range(100)]

    assert eventually(lambda: not Task.objects.filter(id__in=quick, status="PENDING").exists()) < 4
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in quick))
    assert status(slow) == "RUNNING"


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


def test_two_schedulers_enqueue_each_time_once(start_worker: StartWorker) -> None:
    from tasks.models import Schedule
    from tasks.schedules import create_schedule

    made = [
        create_schedule(name=f"s{n}", cron="* * * * *", type_key="test.noop", catch_up=True)
        for n in range(5)
    ]
    for schedule in made:
        schedule.next_at = schedule.next_at.replace(year=schedule.next_at.year, second=0)
    from datetime import timedelta

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


def test_several_processes_start_and_end_as_one(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    family = children_of(worker)
    name = add("test.mark", name="one")
    eventually(lambda: status(name) == "SUCCEEDED")

    code, _ = worker.end()

    assert code == 0
    assert len(family) >= 6  # two workers, each with a nursery and a child
    assert not any(alive(pid) for pid in family)


def test_several_processes_end_with_the_one_that_started_them(start_worker: StartWorker) -> None:
    worker = start_worker("--processes", "2", "--slots", "1")
    eventually(lambda: TaskWorker.objects.count() == 2)
    family = children_of(worker)

    worker.signal(signal.SIGKILL)

    eventually(lambda: not any(alive(pid) for pid in family), 15)


def test_a_child_in_which_runs_left_much_behind_is_replaced(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1")
    first = add("test.leak")
    eventually(lambda: status(first) == "SUCCEEDED")
    before = children_of(worker)

    names = [add("test.noop") for _ in range(120)]

    eventually(lambda: all(status(name) == "SUCCEEDED" for name in names))
    assert children_of(worker) != before
    assert not Task.objects.filter(attempt__gt=1).exists()
