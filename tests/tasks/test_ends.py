"""How attempts end: the fence, leases, retries, dead letters, the breaker, cancelling."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from tasks import breaker, control, dead, errors, metrics
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Status, Task, TaskType
from tasks.upkeep_sql import REAP
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, events, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def let_leases_expire() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_task SET lease_until = lease_until - interval '1 hour'")


def reap(worker: Claimer) -> int:
    return len(worker.store.rows(REAP))


def died(worker: Claimer, key: str = "test.noop", **options: Any) -> UUID:
    """A task that is a dead letter."""
    name = enqueue(key, max_attempts=1, **options).id
    worker.fail(*worker.claim())
    assert status(name) == "DEAD"
    return name


def test_only_who_has_the_task_may_end_it(claimer: Any) -> None:
    name = add("test.noop")
    first, second = claimer("w1"), claimer("w2")
    [stale] = first.claim(lease=0.0)
    reap(second)
    [run] = second.claim()

    assert first.succeed(stale) == 0
    assert first.fail(stale) == 0
    assert first.beat(stale) == {}
    assert (status(name), task(name).attempt) == ("RUNNING", 2)
    assert second.succeed(run) == 1
    assert second.succeed(run) == 0
    assert events(name).count("succeeded") == 1


def test_attempts_are_bounded_however_workers_die(claimer: Any) -> None:
    name = enqueue("test.noop", max_attempts=3).id
    worker = claimer()

    for _ in range(3):
        assert len(worker.claim()) == 1
        let_leases_expire()
        assert reap(worker) == 1

    assert (status(name), worker.claim(), reap(worker)) == ("DEAD", [], 0)
    assert [error["class"] for error in task(name).errors] == ["LeaseExpired"] * 3
    assert events(name)[-2:] == ["lease_lost", "dead"]


def test_a_lease_that_is_renewed_is_not_reaped(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    [run] = worker.claim(lease=0.0)

    assert worker.beat(run) == {str(name): False}
    assert reap(worker) == 0


def test_a_failure_is_kept_and_retried_after_its_backoff(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.fail(*worker.claim())

    made = task(name)
    assert made.status == "PENDING"
    assert 29 < (made.run_after - made.started_at).total_seconds() < 46
    assert made.errors[0]["class"] == "Boom"
    assert made.errors[0]["attempt"] == 1
    assert events(name) == ["enqueued", "started", "failed", "retry_scheduled"]
    assert worker.claim() == []


@pytest.mark.parametrize(("how", "end"), [("fatal", "DEAD"), ("discard", "DISCARDED")])
def test_a_handler_can_give_up_at_once(claimer: Any, how: str, end: str) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.fail(*worker.claim(), how=how)

    assert status(name) == end


def test_what_is_given_back_has_lost_no_attempt(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()

    worker.give_back(*worker.claim())

    assert (status(name), task(name).attempt) == ("PENDING", 0)
    [run] = worker.claim()
    assert run.attempt == 1


def test_one_end_that_cannot_be_kept_takes_no_other_along(claimer: Any) -> None:
    good, bad = add("test.noop"), add("test.noop")
    worker = claimer()
    first, second = worker.claim()

    worker.store.acknowledge(
        [first.succeeded(0.1, "fine", "w1"), second.succeeded(0.1, "a\0b", "w1")]
    )

    assert (status(good), task(good).result) == ("SUCCEEDED", "fine")
    assert (status(bad), task(bad).errors[0]["class"]) == ("DEAD", "Unkeepable")


def test_a_pending_task_is_cancelled_at_once(claimer: Any) -> None:
    name = add("test.noop")

    assert control.cancel(name, actor="ana") is Status.CANCELLED
    assert control.cancel(name, actor="ben") is Status.CANCELLED
    assert claimer().claim() == []
    assert events(name) == ["enqueued", "cancel_requested", "cancelled"]


def test_a_running_task_is_cancelled_when_its_worker_says_so(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    [run] = worker.claim()

    assert control.cancel(name, actor="ana") is Status.CANCELLING
    assert worker.beat(run) == {str(name): True}
    assert worker.fail(run) == 1
    assert status(name) == "CANCELLED"


def test_a_cancelled_task_of_a_dead_worker_is_not_run_again(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    worker.claim()
    control.cancel(name, actor="ana")
    let_leases_expire()

    reap(worker)

    assert (status(name), worker.claim()) == ("CANCELLED", [])


def test_what_has_ended_or_is_not_there_or_not_yours_cannot_be_cancelled(claimer: Any) -> None:
    name = enqueue("test.noop", owner_id=uuid4()).id
    with pytest.raises(errors.TaskNotFound):
        control.cancel(name, actor="ana", owner_id=uuid4())
    with pytest.raises(errors.TaskNotFound):
        control.cancel(uuid4(), actor="ana")
    worker = claimer()
    worker.succeed(*worker.claim())

    with pytest.raises(errors.WrongStatus):
        control.cancel(name, actor="ana")


def test_a_dead_letter_is_replayed_with_all_its_attempts(claimer: Any) -> None:
    worker = claimer()
    name = died(worker)

    dead.replay(name, actor="ana")

    [run] = worker.claim()
    assert (run.attempt, len(task(name).errors)) == (1, 1)
    assert "replayed" in events(name)
    with pytest.raises(errors.WrongStatus):
        dead.replay(name, actor="ana")


def test_a_dead_letter_is_edited_and_replayed(claimer: Any) -> None:
    name = died(claimer(), "demo.sleep", payload={"seconds": 1})

    with pytest.raises(errors.InvalidPayload):
        dead.edit_and_replay(name, {"seconds": -1}, actor="ana")
    dead.edit_and_replay(name, {"seconds": 2}, actor="ana")

    assert (status(name), task(name).payload) == ("PENDING", {"seconds": 2})


def test_dead_letters_of_a_type_are_listed_and_replayed_together(claimer: Any) -> None:
    worker = claimer()
    ours = [died(worker) for _ in range(3)]
    other = died(worker, "test.hog")

    assert [letter.id for letter in dead.dead_letters(key="test.noop")] == ours
    assert metrics.dead_depth() == {"test.noop@1": 3, "test.hog@1": 1}
    assert dead.replay_many("test.noop", actor="ana", limit=2) == 2
    assert [status(name) for name in ours] == ["PENDING", "PENDING", "DEAD"]
    assert status(other) == "DEAD"


def test_a_sensitive_type_is_replayed_only_on_purpose(claimer: Any) -> None:
    name = died(claimer(), "test.sensitive")

    with pytest.raises(errors.ConfirmationNeeded):
        dead.replay(name, actor="ana")
    with pytest.raises(errors.ConfirmationNeeded):
        dead.replay_many("test.sensitive", actor="ana")
    dead.replay(name, actor="ana", confirmed=True)

    assert status(name) == "PENDING"


def test_a_dead_letter_is_discarded_by_somebody(claimer: Any) -> None:
    name = died(claimer())

    dead.discard(name, actor="ana")

    assert (status(name), events(name)[-1]) == ("DISCARDED", "discarded")
    with pytest.raises(errors.WrongStatus):
        dead.discard(name, actor="ana")


def run_many(worker: Claimer, *, good: int, bad: int) -> bool:
    """Let so many attempts end; whether the breaker opened."""
    enqueue_many([NewTask("test.noop")] * (good + bad))
    runs = worker.claim(good + bad)
    worker.succeed(*runs[:good])
    worker.fail(*runs[good:])
    kinds = list(TaskType.objects.filter(key="test.noop").values_list("id", flat=True))
    return bool(worker.store.rows(breaker.TRIP, {"types": kinds}))


@pytest.mark.parametrize(
    ("good", "bad", "opens"), [(0, 19, False), (0, 20, True), (4, 16, False), (3, 17, True)]
)
def test_the_breaker_opens_when_over_80_percent_of_20_fail(
    claimer: Any, good: int, bad: int, opens: bool
) -> None:
    assert run_many(claimer(), good=good, bad=bad) is opens


def test_an_open_breaker_lets_one_probe_a_minute_through_and_closes_on_success(
    claimer: Any,
) -> None:
    worker = claimer()
    assert run_many(worker, good=0, bad=25)
    Task.objects.all().delete()
    enqueue_many([NewTask("test.noop")] * 5)

    assert worker.claim() == []
    assert metrics.open_breakers() == ["test.noop@1"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_tasktype SET breaker_probe_at = now() WHERE breaker = 'OPEN'")
    [probe] = worker.claim()
    assert probe.is_probe
    assert worker.claim() == []
    worker.succeed(probe)
    worker.store.rows(breaker.MEND, {"types": list(TaskType.objects.values_list("id", flat=True))})
    assert len(worker.claim()) == 4
    assert metrics.open_breakers() == []


def test_resuming_closes_the_breaker_and_forgets_the_failures(claimer: Any) -> None:
    worker = claimer()
    assert run_many(worker, good=0, bad=25)
    with connection.cursor() as cursor:  # the slots of ten seconds that were before the resuming
        cursor.execute("UPDATE tasks_tasktally SET slot = slot - interval '20 seconds'")

    control.resume("test.noop", actor="ana")

    assert not run_many(worker, good=0, bad=5)
    with pytest.raises(errors.UnknownType):
        control.resume("no.such", actor="ana")
