"""The life of a task, with a real worker and real children."""

from __future__ import annotations

import pytest

from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def test_a_task_runs_in_a_child_and_is_acknowledged(start_worker: StartWorker) -> None:
    first = add("test.mark", name="one")
    worker = start_worker()

    eventually(lambda: status(first) == "SUCCEEDED")

    assert marks("one") == 1
    assert events(first) == ["enqueued", "started", "succeeded"]
    assert task(first).attempt == 1
    assert worker.end()[0] == 0
