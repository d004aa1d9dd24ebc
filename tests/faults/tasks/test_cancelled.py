"""Ending of runs: cancelled ones, cooperative and stubborn, and those that take too long."""

from __future__ import annotations

import pytest

from tasks.control import cancel
from tests.faults.tasks.queries import SETTINGS, SHORT, pid_of
from tests.support.task_workers import StartWorker, alive
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def test_a_cancelled_task_stops_by_itself_and_a_stubborn_one_is_killed_after_its_grace(
    start_worker: StartWorker,
) -> None:
    start_worker(**SETTINGS)
    gentle = add("fault.until", name="gentle")
    mule = add("fault.until", name="mule", stubborn=True)
    eventually(lambda: marks("gentle:1:start") and marks("mule:1:start"))

    assert [cancel(each, actor="ana") for each in (gentle, mule)] == ["CANCELLING"] * 2

    assert eventually(lambda: status(gentle) == "CANCELLED") < 20  # of a minute
    eventually(lambda: status(mule) == "CANCELLED")
    assert not alive(pid_of("mule", attempt=1))
    assert (marks("gentle:1:stopped"), marks("mule:1:stopped")) == (1, 0)
    for each in (gentle, mule):
        assert events(each) == ["enqueued", "started", "cancel_requested", "cancelled"]
    after = add("test.mark", name="after")
    eventually(lambda: status(after) == "SUCCEEDED")


def test_a_task_that_takes_too_long_is_ended_and_retried(start_worker: StartWorker) -> None:
    start_worker(*SHORT, **SETTINGS)
    endless = add("test.endless", name="sisyphus")

    eventually(lambda: status(endless) == "DEAD")

    assert [error["class"] for error in task(endless).errors] == ["TimedOut"] * 2
    assert "1 second" in task(endless).errors[0]["message"]
