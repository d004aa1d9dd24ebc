"""SIGSTOP of a worker past its lease, then SIGCONT; once with the fence, once without."""

from __future__ import annotations

import signal
import time
from uuid import UUID

import pytest

from tests.faults.tasks.queries import SETTINGS, SHORT, let_go, pid_of
from tests.support.task_workers import StartWorker, TaskWorker, alive
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

NAMES = ("done", "under_way")
UNFENCED = {"DJANGO_SETTINGS_MODULE": "tests.faults.tasks.settings_unfenced"}


def sleep_past_the_lease(
    start_worker: StartWorker, settings: dict[str, str]
) -> tuple[TaskWorker, list[UUID]]:
    """A worker that wakes up with one run done and one under way; both are at another one now."""
    sleeper = start_worker(*SHORT, **settings)
    names = [add("fault.until", name=name, stubborn=True) for name in NAMES]
    eventually(lambda: all(marks(f"{name}:1:start") == 1 for name in NAMES))
    sleeper.signal(signal.SIGSTOP)
    start_worker(*SHORT, **SETTINGS)
    eventually(lambda: all(marks(f"{name}:2:start") == 1 for name in NAMES))
    let_go("done", attempt=1)
    eventually(lambda: marks("done:1:end") == 1)
    time.sleep(0.2)  # its answer is on the way through the pipe, which nobody can look into
    sleeper.signal(signal.SIGCONT)
    return sleeper, names


def test_a_worker_that_slept_through_its_lease_is_refused_and_ends_its_child(
    start_worker: StartWorker,
) -> None:
    sleeper, names = sleep_past_the_lease(start_worker, SETTINGS)

    eventually(lambda: not alive(pid_of("under_way", attempt=1)))
    eventually(lambda: "refused" in sleeper.said)

    assert [status(name) for name in names] == ["RUNNING", "RUNNING"]
    let_go(*NAMES, attempt=2)
    eventually(lambda: [status(name) for name in names] == ["SUCCEEDED", "SUCCEEDED"])
    assert [events(name).count("succeeded") for name in names] == [1, 1]
    assert [task(name).attempt for name in names] == [2, 2]
    assert marks("under_way:1:end") == 0
    assert sleeper.process.poll() is None


def test_without_the_fence_it_would_end_what_another_one_runs(start_worker: StartWorker) -> None:
    _, [done, _] = sleep_past_the_lease(start_worker, UNFENCED)

    eventually(lambda: status(done) == "SUCCEEDED")

    assert marks("done:2:end") == 0  # the other one has not ended it
