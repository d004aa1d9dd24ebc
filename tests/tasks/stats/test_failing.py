"""For how long tasks have been failing: from the first failure, through each further attempt."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from tasks import dead_letters
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task
from tasks.stats import MOST_FAILING, site_failing_seconds
from tests.tasks.claims import claimer

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)

TYPE = "test.noop@1"


def let_pass(seconds: float) -> None:
    """Let every failure so far be older by that many seconds, and make the next attempts due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tasks_task SET run_after = least(run_after, now()), errors = (SELECT"
            " coalesce(jsonb_agg(jsonb_set(e, '{at}', to_jsonb((e ->> 'at')::timestamptz"
            " - %s * interval '1 second')) ORDER BY n), '[]')"
            " FROM jsonb_array_elements(errors) WITH ORDINALITY g(e, n))",
            [seconds],
        )


def test_a_task_that_waits_runs_for_the_first_time_or_succeeds_is_not_failing(claimer: Any) -> None:
    enqueue_many([NewTask("test.noop"), NewTask("test.noop", delay_seconds=900)])
    waiting = site_failing_seconds()
    worker = claimer()
    [run] = worker.claim(1)
    running = site_failing_seconds()
    worker.succeed(run)

    assert (waiting, running, site_failing_seconds()) == ({}, {}, {})


@pytest.mark.parametrize("how", ["error", "retry"])
def test_the_time_counts_from_the_first_failure_and_through_each_attempt(
    claimer: Any, how: str
) -> None:
    enqueue("test.noop", {}, max_attempts=5)
    worker = claimer()
    worker.fail(*worker.claim(1), how=how)
    once = site_failing_seconds()[TYPE]
    let_pass(300)
    [run] = worker.claim(1)
    while_it_runs = site_failing_seconds()[TYPE]
    worker.fail(run, how=how)
    let_pass(300)
    twice = site_failing_seconds()[TYPE]
    worker.succeed(*worker.claim(1))

    assert 0 <= once < 60
    assert 300 <= while_it_runs < 360
    assert 600 <= twice < 660
    assert site_failing_seconds() == {}


def test_a_dead_letter_is_not_failing_and_after_a_replay_its_time_begins_anew(claimer: Any) -> None:
    task_id = enqueue("test.noop", {}, max_attempts=2).id
    worker = claimer()
    for _ in range(2):
        [run] = worker.claim(1)
        worker.begin(run)
        worker.fail(run)
        let_pass(300)
    dead = site_failing_seconds()
    dead_letters.replay(task_id, actor="test")
    replayed = site_failing_seconds()
    worker.fail(*worker.claim(1))

    assert (dead, replayed) == ({}, {})
    assert 0 <= site_failing_seconds()[TYPE] < 60


def test_of_very_many_those_with_the_most_attempts_are_read(claimer: Any) -> None:
    [first] = enqueue_many([NewTask("test.noop", max_attempts=9)])
    worker = claimer()
    for _ in range(2):
        worker.fail(*worker.claim(1))
        let_pass(300)
    enqueue_many([NewTask("test.noop")] * (MOST_FAILING + 20))
    Task.objects.filter(id=UUID(str(first.id))).update(priority=-9)
    worker.fail(*worker.claim(MOST_FAILING + 20))

    assert Task.objects.filter(status="PENDING", attempt__gt=0).count() == MOST_FAILING + 21
    assert 600 <= site_failing_seconds()[TYPE] < 660


@pytest.mark.slow
def test_it_reads_indexes_however_many_tasks_wait() -> None:
    enqueue_many([NewTask("test.noop")] * 5_000)
    plan: list[str] = []

    def explain(run: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        with connection.connection.cursor() as cursor:
            plan.extend(row for (row,) in cursor.execute(f"EXPLAIN {statement}", parameters))
        return run(statement, parameters, many, context)

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_task")
    with connection.execute_wrapper(explain):
        site_failing_seconds()

    assert any("using tasks_failing on tasks_task" in line for line in plan), plan
    assert not any("Seq Scan on tasks_task " in line for line in plan)
