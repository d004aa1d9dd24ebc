"""A deploy: workers of two releases at the same time, while old tasks wait."""

from __future__ import annotations

import pytest

from tasks.enqueue import enqueue
from tests.faults.tasks.queries import SETTINGS, holder_of
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, status, task

pytestmark = pytest.mark.django_db(transaction=True)

OLD = {"DJANGO_SETTINGS_MODULE": "tests.faults.tasks.settings_old"}


def test_an_old_worker_leaves_what_it_does_not_know_to_a_new_one(
    start_worker: StartWorker,
) -> None:
    old_worker = start_worker(**OLD)
    unknown, newer = add("fault.addition"), add("fault.report")
    known = enqueue("fault.report", version=1).id
    eventually(lambda: status(known) == "SUCCEEDED")
    assert holder_of(known, [old_worker])
    assert {(status(each), task(each).attempt) for each in (unknown, newer)} == {("PENDING", 0)}

    old_worker.end()
    waiting = enqueue("fault.report", version=1).id
    start_worker(**SETTINGS)

    eventually(lambda: all(status(each) == "SUCCEEDED" for each in (unknown, newer, waiting)))
    assert [task(each).result for each in (waiting, newer)] == ["old", "new"]
