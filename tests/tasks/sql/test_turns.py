"""Turns: within a priority, owners take turns, however much the others have waiting."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from tasks import control
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Breaker, Task, TaskOwnerBreaker, TaskType
from tasks.sql.claim import CLAIMS
from tasks.worker import task_store
from tasks.worker.options import Options
from tasks.worker.task_store import TaskStore
from tests.tasks.claims import Claimer, claimer

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)

ANA, BEN, CAT = (UUID(int=number) for number in (1, 2, 3))


def put(owner: UUID | None, count: int = 1, key: str = "test.noop", **options: Any) -> None:
    enqueue_many([NewTask(key, owner_id=owner, **options)] * count)


def turns(worker: Claimer, limit: int) -> list[UUID | None]:
    """Claim; return the owners in the order in which they come."""
    return [UUID(each.owner_id) if each.owner_id else None for each in worker.claim(limit)]


def test_companies_take_turns_within_one_claim(claimer: Any) -> None:
    put(ANA, 100)
    put(BEN, 2)
    put(CAT)

    assert turns(claimer(), 6) == [ANA, BEN, CAT, ANA, BEN, ANA]


def test_without_broken_owners_the_shorter_claim_takes_the_same_turns(claimer: Any) -> None:
    put(ANA, 200)
    put(BEN, 2)
    put(CAT)
    worker = claimer()
    worker.has_trials = False

    assert turns(worker, 2) + turns(worker, 4) == [ANA, BEN, CAT, ANA, BEN, ANA]


def test_and_from_one_claim_to_the_next(claimer: Any) -> None:
    put(ANA, 200)
    put(BEN, 2)
    put(CAT, 2)
    worker = claimer()

    had = [turns(worker, 1)[0] for _ in range(6)]

    assert had == [ANA, BEN, CAT, ANA, BEN, CAT]


def test_a_worker_that_forgot_who_was_last_begins_anew(claimer: Any) -> None:
    put(ANA, 50)
    put(BEN, 50)
    worker = claimer()

    had = []
    for _ in range(3):
        had += turns(worker, 1)
        worker.last_turns.clear()

    assert had == [ANA] * 3, "the control: the memory is what makes turns"


def test_the_order_within_a_company_stays(claimer: Any) -> None:
    put(BEN)
    ids = [enqueue("test.noop", owner_id=ANA).id for _ in range(30)]

    worker = claimer()
    had = [UUID(each.task_id) for each in worker.claim(20) if each.owner_id == str(ANA)]

    assert had == ids[:19]


def test_a_higher_priority_goes_first_and_does_not_move_the_turns_of_a_lower_one(
    claimer: Any,
) -> None:
    put(BEN, 20)
    put(CAT, 20)
    worker = claimer()

    had = []
    for _ in range(3):
        put(ANA, priority=5)
        had += turns(worker, 2)

    assert had == [ANA, BEN, ANA, CAT, ANA, BEN]


def test_tasks_of_the_site_have_a_turn_too(claimer: Any) -> None:
    put(ANA, 100)
    put(None)

    assert turns(claimer(), 2) == [ANA, None]


def test_the_places_of_a_capped_type_go_round(claimer: Any) -> None:
    put(ANA, 14, key="test.capped")
    put(BEN, 1, key="test.capped")

    assert turns(claimer(), 10) == [ANA, BEN]


def test_everybody_has_a_turn_where_more_companies_wait_than_are_looked_at(claimer: Any) -> None:
    owners = [UUID(int=number) for number in range(10, 70)]
    for owner in owners:
        put(owner, 3)
    put(ANA, 100)
    worker = claimer()

    had = [turns(worker, 1)[0] for _ in range(61)]

    assert {*had} == {ANA, *owners}


def test_companies_whose_tasks_are_due_later_are_jumped_over(claimer: Any) -> None:
    for number in range(10, 60):
        put(UUID(int=number), delay_seconds=60)
    put(ANA, 100)
    last = UUID(int=1000)
    put(last)

    assert turns(claimer(), 2) == [ANA, last]


def test_a_company_that_paused_the_type_has_no_turn(claimer: Any) -> None:
    put(ANA, 60)
    put(BEN, 60)
    control.pause("test.noop", actor="ana", owner_id=BEN)

    assert {*turns(claimer(), 40)} == {ANA}


def broken(worker: Claimer, owner: UUID, *, bad: int = 20, good: int = 0) -> bool:
    """Let runs of an owner end; return whether its breaker opened."""
    put(owner, bad + good)
    runs = worker.claim(bad + good)
    worker.succeed(*runs[:good])
    worker.fail(*runs[good:])
    Task.objects.all().delete()
    rows = {"types": [_type()], "owners": [owner]}
    return bool(worker.connection.rows(task_store.OPEN_OWNER_BREAKERS, rows))


def _type() -> int:
    return TaskType.objects.get(key="test.noop").id


@pytest.mark.parametrize(
    ("good", "bad", "opens"), [(0, 19, False), (0, 20, True), (4, 16, False), (3, 17, True)]
)
def test_the_breaker_of_a_company_opens_by_its_own_runs(
    claimer: Any, good: int, bad: int, opens: bool
) -> None:
    assert broken(claimer(), ANA, bad=bad, good=good) is opens


def test_it_lets_one_probe_a_minute_through_also_of_parked_tasks(claimer: Any) -> None:
    worker = claimer()
    assert broken(worker, ANA)
    put(ANA, 3)
    put(BEN)
    assert turns(worker, 5) == [BEN]
    TaskOwnerBreaker.objects.update(probe_at="2020-01-01T00:00Z")
    Task.objects.filter(owner_id=ANA).update(parked=True)

    [probe] = worker.claim(5)

    assert (probe.is_probe, probe.owner_id) == (True, str(ANA))
    assert not Task.objects.get(id=probe.task_id).parked
    assert worker.claim(5) == []
    worker.succeed(probe)
    worker.connection.rows(task_store.CLOSE_OWNER_BREAKERS, {"types": [_type()], "owners": [ANA]})
    assert TaskOwnerBreaker.objects.get().breaker == Breaker.CLOSED
    assert not broken(worker, ANA, bad=5), "what was before does not count"


def test_a_worker_tries_nothing_out_until_its_look_at_the_breakers_has_found_one(
    claimer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TaskStore("w2", Options())
    asked: list[bool] = []
    claim = store.connection.claim

    def noted(*given: Any, **how: Any) -> list[Any]:
        asked.append(how["has_trials"])
        return claim(*given, **how)

    monkeypatch.setattr(store.connection, "claim", noted)
    store.claim(1)
    store.park()
    store.claim(1)
    assert broken(claimer(), ANA)
    put(ANA)
    TaskOwnerBreaker.objects.update(probe_at="2020-01-01T00:00Z")
    assert store.claim(1)[0] == []

    store.park()
    [probe], _ = store.claim(1)
    store.connection.close()

    assert probe.is_probe
    assert asked == [True, False, False, True], "before its first look it does not know"


@pytest.mark.parametrize(("owners", "opens"), [(1, False), (2, False), (3, True)])
def test_that_of_everybody_opens_only_if_several_companies_fail(
    claimer: Any, owners: int, opens: bool
) -> None:
    worker = claimer()
    for number in range(owners):
        assert broken(worker, UUID(int=10 + number))

    found = worker.connection.rows(task_store.OPEN_BREAKERS, {"types": [_type()]})

    assert bool(found) is opens
    left = TaskOwnerBreaker.objects.filter(breaker=Breaker.OPEN).count()
    assert left == (0 if opens else owners), "then the type is to blame"


def test_resuming_closes_the_breaker_of_a_company(claimer: Any) -> None:
    worker = claimer()
    for owner in (ANA, BEN):
        assert broken(worker, owner)
    put(ANA)

    control.resume("test.noop", actor="ana", owner_id=ANA)

    assert [*control.broken_types(ANA)] == []
    assert [*control.broken_types(BEN)] == ["test.noop"]
    assert turns(worker, 5) == [ANA]
    control.resume("test.noop", actor="staff:1")
    assert [*control.broken_types(BEN)] == []


@pytest.mark.parametrize(("is_crowded", "has_trials"), CLAIMS)
def test_a_claim_reads_tasks_by_its_indexes_only(
    claimer: Any, is_crowded: bool, has_trials: bool
) -> None:
    claim = CLAIMS[is_crowded, has_trials]
    for owner in (ANA, BEN, CAT):
        put(owner, 300)
        put(owner, 300, delay_seconds=600)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_task")
    types = list(TaskType.objects.values_list("id", flat=True))
    given = {"types": types, "queues": None, "limit": 4, "reach": 14, "after": "{}"}
    given |= {"lanes": "[]"}
    worker = claimer()

    rows = worker.connection.rows(
        f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) {claim}",
        given | {"worker": "w", "lease": 30.0},
    )

    plan = [line for (line,) in rows]
    assert not [line for line in plan if "Seq Scan on tasks_task " in line]
    assert not is_crowded or any("tasks_turns" in line for line in plan)
    removed = [int(line.split(":")[1]) for line in plan if "Rows Removed by Filter" in line]
    assert max(removed, default=0) <= len(types), plan  # types, of which there are few
