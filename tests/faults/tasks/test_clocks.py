"""Processes whose clocks are wrong by an hour, and two schedulers at once."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.enqueue import enqueue
from tasks.models import Schedule, Task, TaskWorker
from tasks.scheduling import schedules
from tests.faults.tasks.queries import SETTINGS, SHORT, let_go
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.support.wrong_clock import wrong_clock
from tests.tasks.seen import add, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

HOUR = 3_600
MISSED = 30


def schedule(name: str, at: datetime) -> Schedule:
    """One of every hour, whose next time is this."""
    made = schedules.create(name=name, cron=f"{at.minute} * * * *", type_key="test.noop")
    Schedule.objects.filter(id=made.id).update(next_at=at.replace(second=0, microsecond=0))
    return made


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_leases_delays_and_schedules_follow_the_databases_clock(
    start_worker: StartWorker, tmp_path: Path, by: int
) -> None:
    now = datetime.now(UTC)
    past = schedule("past", now - timedelta(minutes=1))
    future = schedule("future", now + timedelta(minutes=30))
    later = enqueue("test.noop", delay_seconds=600).id
    runs = [add("fault.until", name=f"run{n}") for n in range(2)]
    start_worker(*SHORT, "--slots", "3", **SETTINGS, **wrong_clock(by, tmp_path))
    eventually(lambda: marks("run0:1:start") and marks("run1:1:start"))
    told, soon = add("fault.clock"), enqueue("test.noop", delay_seconds=2.5).id

    eventually(lambda: status(soon) == "SUCCEEDED")
    leases = [task(each).lease_until for each in runs]
    let_go("run0", "run1", attempt=1)
    eventually(lambda: all(status(each) == "SUCCEEDED" for each in [*runs, told]))

    # The control: these clocks are really wrong.
    assert task(told).result == pytest.approx([time.time() + by] * 2, abs=60)
    assert [task(each).attempt for each in runs] == [1, 1]
    assert all(abs((lease - datetime.now(UTC)).total_seconds()) < 60 for lease in leases)
    assert status(later) == "PENDING"
    assert 0 <= (task(soon).started_at - task(soon).run_after).total_seconds() < 60  # of an hour
    assert Task.objects.filter(producer=f"schedule:{past.id}").count() == 1
    assert not Task.objects.filter(producer=f"schedule:{future.id}").exists()


def test_two_schedulers_enqueue_each_time_once_though_one_is_killed(
    start_worker: StartWorker,
) -> None:
    made = [
        schedules.create(name=f"s{n}", cron="* * * * *", type_key="test.noop", catch_up=True)
        for n in range(20)
    ]
    for each in made:
        Schedule.objects.filter(id=each.id).update(next_at=each.next_at - timedelta(minutes=MISSED))
    workers = [start_worker(*SHORT, **SETTINGS) for _ in range(2)]
    eventually(Task.objects.exists)
    workers[0].signal(signal.SIGKILL)

    wanted = len(made) * MISSED
    eventually(lambda: Task.objects.filter(status="SUCCEEDED").count() >= wanted)
    eventually(lambda: TaskWorker.objects.filter(sleeping=True).exists())

    slots = list(Task.objects.values_list("idempotency_key", flat=True))
    assert len(set(slots)) == len(slots)
    assert len(slots) in (wanted, wanted + len(made))  # a minute may have begun meanwhile
