"""Slow or failing work of one company beside everyone else's, with real workers."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tasks import control
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Breaker, Task, TaskOwnerBreaker, TaskType
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("marks")
def test_slow_tasks_hold_up_no_other_type(start_worker: StartWorker) -> None:
    slow = [NewTask("demo.sleep", {"seconds": 60}, owner_id=uuid4()) for _ in range(10)]
    ids = [made.id for made in enqueue_many(slow)]
    start_worker()
    asleep = Task.objects.filter(id__in=ids, status="RUNNING")
    eventually(lambda: asleep.count() == 2)

    quick = [add("test.mark", name=str(n)) for n in range(5)]
    seconds = eventually(lambda: all(status(name) == "SUCCEEDED" for name in quick))

    assert seconds < 30, "and none of the others sleeps less than a minute"
    assert asleep.count() == 2
    for name in ids:
        control.cancel(name, actor="ana")


def done_before(last: UUID) -> int:
    """Wait until a task has succeeded; return how many others had been started before it."""
    eventually(lambda: status(last) == "SUCCEEDED")
    begun = Task.objects.get(id=last).started_at
    return Task.objects.filter(started_at__lt=begun).count()


@pytest.mark.usefixtures("marks")
@pytest.mark.parametrize(
    ("same_company", "fewest", "most"), [(False, 0, 4), pytest.param(True, 30, 30, id="control")]
)
def test_one_task_does_not_wait_behind_many_of_another_company(
    start_worker: StartWorker, *, same_company: bool, fewest: int, most: int
) -> None:
    many, other = uuid4(), uuid4()
    payload = {"name": "", "seconds": 0.02}
    enqueue_many([NewTask("test.slow", payload, owner_id=many)] * 30)
    last = enqueue("test.slow", payload, owner_id=many if same_company else other).id

    start_worker("--slots", "1")

    assert fewest <= done_before(last) <= most


@pytest.mark.parametrize(
    ("same_company", "fewest", "most"), [(False, 0, 2), pytest.param(True, 14, 14, id="control")]
)
def test_nor_behind_many_large_ones_of_a_capped_type(
    start_worker: StartWorker, *, same_company: bool, fewest: int, most: int
) -> None:
    many, other = uuid4(), uuid4()
    large = NewTask("test.one_at_a_time", {"seconds": 0.1}, owner_id=many)
    enqueue_many([large] * 14)
    last = enqueue("test.one_at_a_time", owner_id=many if same_company else other).id

    start_worker()

    assert fewest <= done_before(last) <= most


def fail_for(owners: list[UUID], *, tasks: int) -> None:
    """Let this many tasks of each owner fail for good, each after two attempts."""
    failing = NewTask("test.hooked", {"name": "", "then": "fail"})
    ids = [enqueue(failing.key, failing.payload, owner_id=o).id for o in owners * tasks]
    dead = Task.objects.filter(id__in=ids, status="DEAD")
    breakers = TaskOwnerBreaker.objects.filter(breaker=Breaker.OPEN)
    types = TaskType.objects.filter(breaker=Breaker.OPEN)
    eventually(lambda: dead.count() == len(ids) or breakers.exists() or types.exists())


@pytest.mark.usefixtures("marks")
def test_failing_tasks_of_one_company_stop_no_other(start_worker: StartWorker) -> None:
    failing, other = uuid4(), uuid4()
    start_worker()

    fail_for([failing], tasks=30)

    eventually(lambda: TaskOwnerBreaker.objects.filter(owner_id=failing, breaker="OPEN").exists())
    own = enqueue("test.hooked", {"name": ""}, owner_id=failing, priority=100).id
    good = enqueue("test.hooked", {"name": ""}, owner_id=other).id
    assert eventually(lambda: status(good) == "SUCCEEDED") < 30
    assert "started" not in events(own), "its own breaker is open"
    assert TaskType.objects.get(key="test.hooked").breaker == Breaker.CLOSED


@pytest.mark.usefixtures("marks")
def test_what_fails_for_several_companies_stops_for_everybody(start_worker: StartWorker) -> None:
    start_worker()

    fail_for([uuid4() for _ in range(4)], tasks=6)

    eventually(lambda: TaskType.objects.get(key="test.hooked").breaker == Breaker.OPEN)
    good = enqueue("test.hooked", {"name": ""}, owner_id=uuid4(), priority=100).id
    later = add("test.mark", name="later")
    eventually(lambda: status(later) == "SUCCEEDED")
    assert status(good) == "PENDING"
