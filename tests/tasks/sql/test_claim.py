"""The claim: order, caps, rates, pauses and pools; no task is claimed twice."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from tasks import control, registry
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Breaker, Task, TaskType
from tests.support.together import started, wait_until_somebody_waits_for_a_lock
from tests.tasks.claims import claimer
from tests.tasks.seen import add, events, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_the_highest_priority_goes_first_then_the_longest_due_then_the_id(claimer: Any) -> None:
    low = enqueue("test.noop", priority=-5).id
    late = enqueue("test.mark", {"name": ""}).id
    early = enqueue("test.noop").id
    Task.objects.filter(id=early).update(run_after=task(late).created_at.replace(year=2020))
    high = enqueue("test.hog", priority=100).id

    assert claimer().names(2) == [high, early]
    assert claimer("w2").names(5) == [late, low]


def test_never_more_than_asked_for(claimer: Any) -> None:
    enqueue_many([NewTask("test.noop")] * 9)

    assert [len(claimer().claim(4)) for _ in range(3)] == [4, 4, 1]


def test_what_is_not_due_is_left(claimer: Any) -> None:
    enqueue("test.noop", delay_seconds=60, priority=100)

    assert claimer().claim() == []


def test_a_claim_starts_an_attempt_and_says_so(claimer: Any) -> None:
    name = add("test.noop")

    [run] = claimer("w7").claim()

    assert (run.number, status(name), task(name).worker) == (1, "RUNNING", "w7")
    assert 29 < (task(name).lease_until - task(name).started_at).total_seconds() < 31
    assert events(name) == ["enqueued", "started"]


def test_many_workers_at_once_never_have_a_task_twice(claimer: Any) -> None:
    enqueue_many([NewTask("test.noop", {"n": n}) for n in range(300)])
    had: list[str] = []

    def work(each: Any) -> None:
        idle = 0
        while idle < 20:
            got = each.claim(7)
            had.extend(run.task_id for run in got)
            idle = 0 if got else idle + 1

    crew = [claimer(f"w{n}") for n in range(6)]
    in_parallel([lambda each=each: work(each) for each in crew])

    assert Counter(had).most_common(1)[0][1] == 1
    assert len(had) == 300


def test_what_was_taken_after_a_claim_had_looked_is_not_taken_again(
    claimer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = enqueue("test.noop").id
    enqueue("test.mark")
    TaskType.objects.filter(key="test.mark").update(
        breaker=Breaker.OPEN, breaker_probe_at="2020-01-01T00:00Z"
    )
    rows = registry.write_registered_types()
    monkeypatch.setattr(
        registry, "write_registered_types", lambda: rows
    )  # it locks what the slow one is to wait for
    both = ["test.noop", "test.mark"]
    holder = connection.copy()

    with holder.cursor() as cursor:
        cursor.execute("BEGIN; SELECT FROM tasks_tasktype WHERE key = 'test.mark' FOR UPDATE")
        with started(lambda: claimer("w1").names(types_=both)) as had:
            wait_until_somebody_waits_for_a_lock()
            assert claimer("w2").names(types_=["test.noop"]) == [name]
            cursor.execute("ROLLBACK")
    holder.close()

    [taken] = had
    assert (len(taken), name in taken, task(name).worker) == (1, False, "w2")


def in_parallel(calls: list[Any]) -> None:
    def run(call: Any) -> None:
        call()
        connection.close()

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_cap_holds_in_the_whole_cluster_however_many_ask_at_once(claimer: Any) -> None:
    enqueue_many([NewTask("test.capped")] * 40)
    most = []

    def work(each: Any) -> None:
        for _ in range(8):
            got = each.claim(5)
            most.append(Task.objects.filter(status="RUNNING").count())
            each.succeed(*got)

    crew = [claimer(f"w{n}") for n in range(5)]
    in_parallel([lambda each=each: work(each) for each in crew])

    assert max(most) == 2


def test_a_run_that_is_being_cancelled_still_counts_for_its_cap(claimer: Any) -> None:
    enqueue_many([NewTask("test.capped")] * 3)
    running, _ = claimer().names(2)

    control.cancel(running, actor="ana")

    assert status(running) == "CANCELLING"
    assert claimer().claim() == []


def test_a_cap_does_not_hold_up_other_types(claimer: Any) -> None:
    enqueue_many([NewTask("test.capped", priority=50)] * 5)
    other = add("test.noop")

    assert len(claimer().claim(10)) == 3
    assert status(other) == "RUNNING"


def test_a_rate_lets_so_many_start_and_more_with_time(claimer: Any) -> None:
    enqueue_many([NewTask("test.rated")] * 10)
    worker = claimer()

    assert [len(worker.claim(2)), len(worker.claim(5)), len(worker.claim(5))] == [2, 1, 0]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_tasktype SET tokens_at = tokens_at - interval '40 seconds'")
    assert len(worker.claim(5)) == 2


def test_a_paused_type_waits_and_what_runs_goes_on(claimer: Any) -> None:
    running = add("test.noop")
    worker = claimer()
    [run] = worker.claim()
    waiting, other = add("test.noop"), add("test.hog")

    control.pause("test.noop", actor="ana")

    assert worker.names() == [other]
    assert worker.succeed(run) == 1
    assert status(running) == "SUCCEEDED"
    control.resume("test.noop", actor="ana")
    assert worker.names() == [waiting]


def test_a_pool_takes_only_its_queues_and_types(claimer: Any) -> None:
    demo, hog, noop = add("demo.sleep"), add("test.hog"), add("test.noop")

    assert claimer(queues=["demo"]).names() == [demo]
    assert claimer().names(types_=["test.hog"]) == [hog]
    assert claimer().names() == [noop]


def test_an_unfinished_version_stays_beside_the_new_one(claimer: Any) -> None:
    old = enqueue("test.versions", version=1).id
    new = enqueue("test.versions").id

    kinds = {run.task_id: run.spec.version for run in claimer().claim()}

    assert kinds == {str(old): 1, str(new): 2}
