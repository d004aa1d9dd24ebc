"""Slow work of one company beside everybody else's, with the defaults of `run_tasks`."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tasks import control
from tasks.enqueue import NewTask, enqueue_many
from tasks.models import Task
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("marks")
def test_slow_tasks_hold_up_no_other_type(start_worker: StartWorker) -> None:
    slow = [NewTask("demo.sleep", {"seconds": 60}, owner_id=uuid4()) for _ in range(10)]
    ids = [made.id for made in enqueue_many(slow)]
    start_worker()
    asleep = Task.objects.filter(id__in=ids, status="RUNNING")
    eventually(lambda: asleep.count() == 2)

    quick = [add("test.mark", name=str(n)) for n in range(5)]
    seconds = eventually(lambda: all(status(name) == "SUCCEEDED" for name in quick))

    assert seconds < 10, "and none of the others sleeps less than a minute"
    assert asleep.count() == 2
    for name in ids:
        control.cancel(name, actor="ana")
