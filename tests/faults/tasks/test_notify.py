"""Notifications that are lost, and connections that are cut off."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection, transaction

from tasks.enqueue import enqueue, wake_workers
from tasks.models import TaskWorker
from tests.faults.tasks.queries import SETTINGS, let_go, terminate_connections
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]


def enqueue_silently(*queues: str) -> list[UUID]:
    """A task in each of the queues; nobody is told."""
    with transaction.atomic():
        made = [enqueue("test.noop", queue=queue).id for queue in queues]
        connection.run_on_commit.clear()
    return made


def test_what_nobody_was_told_of_is_found_within_the_poll(start_worker: StartWorker) -> None:
    start_worker("--queues", "polled", "--poll", "1", **SETTINGS)
    start_worker("--queues", "told", "--poll", "60", **SETTINGS)  # the control: it needs to be told
    eventually(lambda: TaskWorker.objects.filter(sleeping=True).count() == 2)

    for _ in range(5):  # the second one may have been about to look once more before it slept
        polled, told = enqueue_silently("polled", "told")
        assert eventually(lambda polled=polled: status(polled) == "SUCCEEDED") < 30
        if status(told) == "PENDING":
            break

    assert status(told) == "PENDING"
    wake_workers()
    assert eventually(lambda: status(told) == "SUCCEEDED") < 30  # of a minute


def test_a_worker_that_is_cut_off_from_the_database_goes_on(start_worker: StartWorker) -> None:
    worker = start_worker("--poll", "60", **SETTINGS)
    first = add("fault.until", name="first")
    eventually(lambda: marks("first:1:start") == 1)

    assert terminate_connections() >= 2  # the worker's and the child's
    second = enqueue("test.mark", {"name": "second"}).id

    eventually(lambda: status(second) == "SUCCEEDED")
    let_go("first", attempt=1)
    let_go("first", attempt=2)  # its child may have died of it
    eventually(lambda: status(first) == "SUCCEEDED")
    assert events(first).count("succeeded") == 1
    assert worker.process.poll() is None
