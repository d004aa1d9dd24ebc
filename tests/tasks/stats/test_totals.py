"""Counters that never fall: folding into the totals neither loses nor repeats a run."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from django.db import connection

from tasks.enqueue import NewTask, enqueue_many
from tasks.models import TaskTally, TaskTotal
from tasks.stats import _FOLD, RunTotal, fold_totals, run_totals
from tasks.worker import chores
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, ended_runs

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def let_pass(hours: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_tasktally SET slot = slot - %s * interval '1 hour'", [hours])


def take(worker: Claimer, *seconds: float) -> None:
    """Let tasks succeed that took so long."""
    enqueue_many([NewTask("test.noop")] * len(seconds))
    runs = worker.claim(len(seconds))
    ends = [run.succeeded(each, None, "w1") for run, each in zip(runs, seconds, strict=True)]
    assert len(worker.connection.acknowledge(ends)) == len(seconds)


def counted() -> RunTotal:
    return run_totals()["test.noop@1"]


def test_runs_are_counted_by_how_they_ended_and_how_long_they_took(claimer: Any) -> None:
    worker = claimer()
    take(worker, 0.05, 0.1, 0.11, 5, 10, 59, 300, 301)
    add("test.noop")
    worker.fail(*worker.claim())

    found = counted()

    assert (found.ends["succeeded"], found.ends["failed"], found.ends["retried"]) == (8, 1, 1)
    assert found.took == (3, 1, 2, 1, 1, 1)
    assert [count for _, count in found.at_most()] == [3, 4, 6, 7, 8, 9]
    assert found.seconds == pytest.approx(675.27)
    assert run_totals()["test.mark@1"].ends["succeeded"] == 0, "known before it ever ran"


def test_they_do_not_fall_when_slices_are_folded_or_have_been_removed(claimer: Any) -> None:
    worker = claimer()
    take(worker, 0.1, 2)
    before = counted()
    for _ in range(2):
        let_pass(hours=2)
        chores.remove_old()
        assert counted() == before
    assert (TaskTally.objects.count(), TaskTotal.objects.count()) == (0, 1)

    take(worker, 3)
    let_pass(hours=2)
    fold_totals()

    assert counted().ends["succeeded"] == 3
    assert counted().took == (1, 0, 2, 0, 0, 0)
    assert fold_totals() == 0


def test_slices_that_the_breaker_and_the_last_hour_need_stay(claimer: Any) -> None:
    take(claimer(), 0.1)
    let_pass(hours=0.9)

    assert fold_totals() == 0
    assert ended_runs()["succeeded"] == 1


def test_whoever_reads_or_folds_or_writes_meanwhile_counts_each_run_once(claimer: Any) -> None:
    worker = claimer()
    take(worker, 0.1, 2)
    let_pass(hours=2)
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(_FOLD)

        while_folding = counted()
        assert fold_totals() == 0, "it waits for nobody"
        take(worker, 5)
        other.commit()

    assert while_folding.ends["succeeded"] == 2
    assert counted().ends["succeeded"] == 3
    assert counted().took == (1, 0, 2, 0, 0, 0)
