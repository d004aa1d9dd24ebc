"""Owners' own numbers and pauses, which affect nobody else."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tasks import control, dead_letters, errors, stats
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task, TaskPause
from tasks.sql.claim import UNPARK
from tasks.stats import owner_depth, owner_oldest_age_seconds, site_depth, site_paused_types
from tasks.worker.task_store import PARK
from tests.tasks.claims import claimer
from tests.tasks.seen import status, task

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_an_owner_pauses_a_type_for_itself_only(claimer: Any) -> None:
    ours, theirs = uuid4(), uuid4()
    waiting = enqueue("test.noop", owner_id=ours).id
    other_type = enqueue("test.hog", owner_id=ours).id
    free = [enqueue("test.noop", owner_id=theirs).id, enqueue("test.noop").id]

    control.pause("test.noop", actor="ana", owner_id=ours)

    assert {*claimer().names()} == {other_type, *free}
    assert status(waiting) == "PENDING"
    assert control.paused_types(ours) == {"test.noop": "ana"}
    assert control.paused_types(theirs) == {}
    control.resume("test.noop", actor="ben", owner_id=ours)
    assert claimer().names() == [waiting]
    assert control.paused_types(ours) == {}


def test_who_pauses_for_itself_waits_for_nobody_who_claims() -> None:
    ours, holder = uuid4(), connection.copy()

    with holder.cursor() as cursor, connection.cursor() as impatient:
        cursor.execute("BEGIN; SELECT FROM tasks_tasktype FOR NO KEY UPDATE")
        impatient.execute("SET lock_timeout = '100ms'")
        control.pause("test.noop", actor="ana", owner_id=ours)
        control.resume("test.noop", actor="ana", owner_id=ours)
        impatient.execute("RESET lock_timeout")
        cursor.execute("ROLLBACK")
    holder.close()

    assert control.paused_types(ours) == {}


def test_without_a_pause_the_same_tasks_are_claimed(claimer: Any) -> None:
    ours = uuid4()
    control.pause("test.noop", actor="ana", owner_id=ours)
    names = [enqueue("test.noop", owner_id=ours).id for _ in range(3)]
    assert claimer().names() == []

    TaskPause.objects.all().delete()

    assert claimer().names() == names


def test_pausing_twice_is_one_pause_and_everybodys_pause_stays(claimer: Any) -> None:
    ours = uuid4()
    enqueue("test.noop", owner_id=ours)
    control.pause("test.noop", actor="ana", owner_id=ours)
    control.pause("test.noop", actor="ben", owner_id=ours)
    control.pause("test.noop", actor="staff:1")

    control.resume("test.noop", actor="ana", owner_id=ours)

    assert claimer().names() == []
    assert site_paused_types() == ["test.noop@1"]
    control.resume("test.noop", actor="staff:1")
    assert len(claimer().names()) == 1
    with pytest.raises(errors.UnknownType):
        control.pause("no.such", actor="ana", owner_id=ours)


def test_paused_tasks_at_the_head_of_a_lane_are_parked_and_come_back_in_order(
    claimer: Any,
) -> None:
    ours = uuid4()
    paused = [e.id for e in enqueue_many([NewTask("test.noop", owner_id=ours)] * 20)]
    behind = enqueue("test.noop").id
    control.pause("test.noop", actor="ana", owner_id=ours)
    worker = claimer()

    moved = len(worker.connection.rows(PARK, {"batch": 15}))

    assert (moved, Task.objects.filter(parked=True).count()) == (15, 15)
    assert worker.names() == [behind]
    assert site_depth() == {("test.noop@1", 0): 20}
    assert worker.connection.rows(UNPARK, {"batch": 15}) == []
    control.resume("test.noop", actor="ana", owner_id=ours)
    assert worker.names(30) == paused


def test_a_parked_task_can_be_cancelled_and_counts_as_pending(claimer: Any) -> None:
    ours = uuid4()
    name = enqueue("test.noop", owner_id=ours).id
    control.pause("test.noop", actor="ana", owner_id=ours)
    claimer().connection.rows(PARK, {"batch": 10})

    assert owner_depth(ours) == {("test.noop@1", 0): 1}
    control.cancel(name, actor="ana", owner_id=ours)

    assert status(name) == "CANCELLED"
    assert owner_depth(ours) == {}


def test_an_owner_sees_its_own_numbers(claimer: Any) -> None:
    ours, theirs = uuid4(), uuid4()
    enqueue_many([NewTask("test.noop", owner_id=ours)] * 3)
    enqueue("test.hog", owner_id=ours, priority=5, delay_seconds=60)
    enqueue_many([NewTask("test.noop", owner_id=theirs)] * 2)
    worker = claimer()
    [first] = [each for each in worker.claim(2) if each.owner_id == str(ours)]
    worker.succeed(first)

    assert owner_depth(ours) == {("test.noop@1", 0): 2, ("test.hog@1", 5): 1}
    assert list(owner_oldest_age_seconds(ours)) == [0]
    counts = stats.owner_counts(ours)
    assert (counts["PENDING"], counts["SUCCEEDED"], counts["DEAD"]) == (3, 1, 0)
    assert stats.owner_counts(theirs)["PENDING"] == 1


def test_dead_letters_are_seen_replayed_and_discarded_by_their_owner_only(claimer: Any) -> None:
    ours, theirs = uuid4(), uuid4()
    worker = claimer()
    mine, other = (enqueue("test.noop", owner_id=o, max_attempts=1).id for o in (ours, theirs))
    worker.fail(*worker.claim())

    assert [letter.id for letter in dead_letters.read_page(owner_id=ours)] == [mine]
    for refused in (
        dead_letters.discard,
        dead_letters.replay,
        control.cancel,
    ):
        with pytest.raises(errors.TaskNotFound):
            refused(other, actor="ana", owner_id=ours)
    with pytest.raises(errors.TaskNotFound):
        dead_letters.edit_and_replay(other, {}, actor="ana", owner_id=ours)
    with pytest.raises(errors.TaskNotFound):
        control.find_task(other, owner_id=ours)
    assert dead_letters.replay_type("test.noop", actor="ana", owner_id=ours) == 1

    assert (status(mine), status(other)) == ("PENDING", "DEAD")
    assert task(mine).owner_id == ours
