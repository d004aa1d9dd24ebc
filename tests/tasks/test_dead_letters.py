"""Dead letters and the breaker: permanent failures wait for a person, or for recovery."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from tasks import control, dead_letters, errors
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task, TaskEvent, TaskType
from tasks.stats import site_dead_depth, site_open_breakers
from tasks.worker import task_store
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import ended_runs, events, status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def died(worker: Claimer, key: str = "test.noop", **options: Any) -> UUID:
    """A task that is a dead letter."""
    name = enqueue(key, max_attempts=1, **options).id
    worker.fail(*worker.claim())
    assert status(name) == "DEAD"
    return name


def test_a_dead_letter_is_replayed_with_all_its_attempts(claimer: Any) -> None:
    worker = claimer()
    name = died(worker)

    dead_letters.replay(name, actor="ana")

    [run] = worker.claim()
    assert (run.number, len(task(name).errors)) == (1, 1)
    assert "replayed" in events(name)
    with pytest.raises(errors.WrongStatus):
        dead_letters.replay(name, actor="ana")


def test_a_dead_letter_is_edited_and_replayed(claimer: Any) -> None:
    name = died(claimer(), "demo.sleep", payload={"seconds": 1})

    with pytest.raises(errors.InvalidPayload):
        dead_letters.edit_and_replay(name, {"seconds": -1}, actor="ana")
    dead_letters.edit_and_replay(name, {"seconds": 2}, actor="ana")

    assert (status(name), task(name).payload) == ("PENDING", {"seconds": 2})


def test_dead_letters_of_a_type_are_listed_and_replayed_together(claimer: Any) -> None:
    worker = claimer()
    ours = [died(worker) for _ in range(3)]
    other = died(worker, "test.hog")

    assert [letter.id for letter in dead_letters.read_page(key="test.noop")] == ours
    assert site_dead_depth() == {"test.noop@1": 3, "test.hog@1": 1}
    assert dead_letters.replay_type("test.noop", actor="ana", limit=2) == 2
    assert [status(name) for name in ours] == ["PENDING", "PENDING", "DEAD"]
    assert status(other) == "DEAD"


def test_what_waits_can_be_buried_and_comes_back_by_a_replay(claimer: Any) -> None:
    name, worker = enqueue("test.noop").id, claimer()

    dead_letters.add(name, actor="ana", reason="it kills its workers")

    assert (status(name), worker.claim()) == ("DEAD", [])
    assert [letter.id for letter in dead_letters.read_page()] == [name]
    [told] = TaskEvent.objects.filter(task_id=name, kind="dead")
    assert (told.actor, told.data) == ("ana", {"buried": True, "reason": "it kills its workers"})
    dead_letters.replay(name, actor="ben")
    [run] = worker.claim()
    assert (run.task_id, run.number) == (str(name), 1)


def test_only_what_waits_and_is_ones_own_can_be_buried(claimer: Any) -> None:
    name, worker = enqueue("test.noop", owner_id=uuid4()).id, claimer()
    for owner, no_task in [(uuid4(), name), (None, uuid4())]:
        with pytest.raises(errors.TaskNotFound):
            dead_letters.add(no_task, actor="ana", owner_id=owner)
    runs = worker.claim()

    with pytest.raises(errors.WrongStatus, match="RUNNING, not pending"):
        dead_letters.add(name, actor="ana")

    assert worker.succeed(*runs) == 1
    assert events(name) == ["enqueued", "started", "succeeded"]


def test_a_sensitive_type_is_replayed_only_on_purpose(claimer: Any) -> None:
    name = died(claimer(), "test.sensitive")

    with pytest.raises(errors.ConfirmationNeeded):
        dead_letters.replay(name, actor="ana")
    with pytest.raises(errors.ConfirmationNeeded):
        dead_letters.replay_type("test.sensitive", actor="ana")
    dead_letters.replay(name, actor="ana", confirmed=True)

    assert status(name) == "PENDING"


def test_a_dead_letter_is_discarded_by_somebody(claimer: Any) -> None:
    name = died(claimer())

    dead_letters.discard(name, actor="ana")

    assert (status(name), events(name)[-1]) == ("DISCARDED", "discarded")
    with pytest.raises(errors.WrongStatus):
        dead_letters.discard(name, actor="ana")


def run_many(worker: Claimer, *, good: int, bad: int) -> bool:
    """Let this many attempts end; whether the breaker opened."""
    enqueue_many([NewTask("test.noop")] * (good + bad))
    runs = worker.claim(good + bad)
    worker.succeed(*runs[:good])
    worker.fail(*runs[good:])
    kinds = list(TaskType.objects.filter(key="test.noop").values_list("id", flat=True))
    return bool(worker.connection.rows(task_store.OPEN_BREAKERS, {"types": kinds}))


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
    assert site_open_breakers() == ["test.noop@1"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_tasktype SET breaker_probe_at = now() WHERE breaker = 'OPEN'")
    [probe] = worker.claim()
    assert probe.is_probe
    assert worker.claim() == []
    worker.succeed(probe)
    worker.connection.rows(
        task_store.CLOSE_BREAKERS, {"types": list(TaskType.objects.values_list("id", flat=True))}
    )
    assert len(worker.claim()) == 4
    assert site_open_breakers() == []


def test_discarded_runs_are_counted_but_are_no_failures_to_the_breaker(claimer: Any) -> None:
    worker = claimer()
    enqueue_many([NewTask("test.noop")] * 25)
    worker.fail(*worker.claim(25), how="discard")

    kinds = list(TaskType.objects.values_list("id", flat=True))
    assert worker.connection.rows(task_store.OPEN_BREAKERS, {"types": kinds}) == []
    numbers = ended_runs()
    assert (numbers["discarded"], numbers["failed"], numbers["dead"]) == (25, 0, 0)


def test_resuming_closes_the_breaker_and_forgets_the_failures(claimer: Any) -> None:
    worker = claimer()
    assert run_many(worker, good=0, bad=25)
    with connection.cursor() as cursor:  # the slots of ten seconds that were before the resuming
        cursor.execute("UPDATE tasks_tasktally SET slot = slot - interval '20 seconds'")

    control.resume("test.noop", actor="ana")

    assert not run_many(worker, good=0, bad=5)
    with pytest.raises(errors.UnknownType):
        control.resume("no.such", actor="ana")
