"""kill -9 of a worker, of a child, of a fork server; poison and hogs beside the innocent."""

from __future__ import annotations

import os
import signal

import pytest

from tasks.models import Task
from tests.faults.tasks.queries import SETTINGS, SHORT, holder_of, let_go, pid_of
from tests.support.task_workers import StartWorker, alive, children_of
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def test_after_kill_9_of_a_worker_another_one_runs_its_tasks(start_worker: StartWorker) -> None:
    workers = [start_worker(*SHORT, **SETTINGS) for _ in range(2)]
    name = add("fault.until", name="long")
    eventually(lambda: marks("long:1:start") == 1)
    victim = holder_of(name, workers)
    family = children_of(victim)

    victim.signal(signal.SIGKILL)

    assert len(family) == 4  # the fork server, two children, and the kept one
    eventually(lambda: not any(alive(pid) for pid in family))
    eventually(lambda: marks("long:2:start") == 1)
    let_go("long", attempt=2)
    eventually(lambda: status(name) == "SUCCEEDED")
    assert events(name) == [
        *["enqueued", "started", "lease_lost", "retry_scheduled", "started", "succeeded"]
    ]
    assert task(name).errors[0]["class"] == "LeaseExpired"
    assert marks("long:1:end") == 0


def test_killed_children_poison_and_hogs_harm_nobody_else(start_worker: StartWorker) -> None:
    worker = start_worker(*SHORT, "--slots", "4", **SETTINGS)
    innocent = [add("fault.until", name=f"good{n}") for n in range(2)]
    victim = add("fault.until", name="victim")
    eventually(lambda: marks("victim:1:start") == 1)

    os.kill(pid_of("victim", attempt=1), signal.SIGKILL)
    poison, hog = add("test.die"), add("fault.take", mebibytes=512)
    modest = add("fault.take", mebibytes=32)  # the control: within the limit nothing happens
    eventually(lambda: marks("victim:2:start") == 1)
    eventually(lambda: (status(poison), status(hog)) == ("DEAD", "DEAD"))
    let_go("good0", "good1", attempt=1)
    let_go("victim", attempt=2)
    ended = [*innocent, victim, modest]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in ended))

    assert [task(each).attempt for each in ended] == [1, 1, 2, 1]
    assert [error["class"] for error in task(victim).errors] == ["ChildDied"]
    assert [error["class"] for error in task(poison).errors] == ["ChildDied"] * 3
    assert "SIGKILL" in task(poison).errors[0]["message"]
    assert [error["class"] for error in task(hog).errors] == ["MemoryError"] * 2
    assert worker.process.poll() is None


def test_those_in_line_behind_poison_at_one_child_lose_no_attempt(
    start_worker: StartWorker,
) -> None:
    worker = start_worker(*SHORT, "--slots", "1", **SETTINGS)
    warm = [add("fault.short") for _ in range(300)]
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in warm[-5:]))
    worker.signal(signal.SIGSTOP)  # so that it finds them all at once
    poison = [add("fault.short", then="die" if n == 10 else "") for n in range(40)][10]
    worker.signal(signal.SIGCONT)

    eventually(lambda: status(poison) == "DEAD")
    eventually(lambda: not Task.objects.filter(status__in=["PENDING", "RUNNING"]).exists())

    others = Task.objects.exclude(id=poison)
    assert {*others.values_list("status", "attempt")} == {("SUCCEEDED", 1)}
    assert task(poison).attempt == 3


def test_a_worker_survives_the_loss_of_its_fork_server(start_worker: StartWorker) -> None:
    worker = start_worker("--slots", "1", **SETTINGS)
    first = add("test.mark", name="first")
    eventually(lambda: status(first) == "SUCCEEDED")

    for pid in children_of(worker):
        os.kill(pid, signal.SIGKILL)
    second = add("test.mark", name="second")

    eventually(lambda: status(second) == "SUCCEEDED")
