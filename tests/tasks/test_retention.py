"""Retention of tasks, and the numbers about them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task, TaskEvent
from tasks.stats import (
    site_backlog,
    site_depth,
    site_enqueued,
    site_oldest_age_seconds,
    site_running,
    site_workers_alive,
)
from tasks.worker import chores
from tests.tasks.claims import claimer
from tests.tasks.seen import add, ended_runs

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def ended(status: str, days: float) -> Any:
    name = add("test.noop")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tasks_task SET status = %s, finished_at = now() - %s * interval '1 day'"
            " WHERE id = %s",
            [status, days, name],
        )
    return name


def test_what_has_ended_is_kept_for_a_week_and_dead_letters_for_a_month() -> None:
    kept = {ended("SUCCEEDED", 6.9), ended("DEAD", 29.9), add("test.noop")}
    for status, days in [("SUCCEEDED", 7.1), ("CANCELLED", 8), ("DISCARDED", 8), ("DEAD", 30.1)]:
        ended(status, days)

    assert chores.remove_batch() == 4

    assert set(Task.objects.values_list("id", flat=True)) == kept
    assert set(TaskEvent.objects.values_list("task_id", flat=True)) == kept


def test_a_batch_is_not_larger_than_asked() -> None:
    for _ in range(5):
        ended("SUCCEEDED", 8)

    assert [chores.remove_batch(batch=3) for _ in range(3)] == [3, 2, 0]


def test_the_numbers(claimer: Any) -> None:
    enqueue_many([NewTask("test.noop")] * 4)
    enqueue("test.hog", priority=5, delay_seconds=60)
    worker = claimer()
    first, second, _ = worker.claim(3)
    worker.succeed(first)
    worker.fail(second)
    worker.beat()

    assert site_depth() == {("test.noop@1", 0): 2, ("test.hog@1", 5): 1}
    assert site_running() == {"test.noop@1": 1}
    assert list(site_oldest_age_seconds()) == [0]
    assert site_workers_alive() == 1
    assert site_enqueued() == 5
    numbers = ended_runs()
    assert (numbers["succeeded"], numbers["failed"], numbers["retried"]) == (1, 1, 1)
    assert numbers["seconds"] == pytest.approx(0.02)
    assert site_backlog(2) == 2
    assert site_backlog(100) == 3
