"""Costs of the hottest paths, in counts that no machine changes: numbers that may only fall.

Time on a shared machine tells little, so these count: round trips and statements as libpq sends
them, and calls of Python and C functions. A path that needs more of them fails, and so does one
that needs far fewer: lower its number then, so that the gain stays. `test_round_trips` of the line
and `test_query_counts` of the API have more paths, by round trips alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.db import connection
from psycopg.pq.abc import PGconn

from jobs.models import Company
from pipeline.selectors.applications import read_application
from pipeline.services.joining import apply
from pipeline.services.leaving import withdraw
from pipeline.services.settling import settle_next_due
from pipeline.services.turns import acknowledge
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task
from tasks.worker.options import Options
from tasks.worker.task_store import TaskStore
from tests.support import factories
from tests.support.callers import key_of, signed_in
from tests.support.calls import calls_of
from tests.support.clock import let_time_pass
from tests.support.round_trips import statements_in, trace_of, waits_in

pytestmark = pytest.mark.django_db(transaction=True)

MORE, FEWER = 1.05, 0.8  # of the calls, before a path fails
COUNTED_ON = (3, 11)  # other releases of Python make other calls for the same code

Act = Callable[[], object]


@dataclass(frozen=True)
class Cost:
    """Counts of one act, or of what one more task or person adds to it."""

    trips: float
    statements: float
    calls: float


# What each path costs now. `EACH` are those of one more, in a large batch.
COSTS = {
    "apply": Cost(2, 8, 787),
    "leave, with a promotion": Cost(3, 7, 922),
    "acknowledge": Cost(2, 6, 621),
    "read a position": Cost(1, 1, 52),
    "read an application over HTTP": Cost(3, 3, 3384),
    "enqueue": Cost(2, 2, 256),
    "enqueue over HTTP": Cost(8, 9, 5891),
    "claim one": Cost(4, 4, 675),
}
EACH = {
    "decay": Cost(0, 0, 458),
    "enqueue_many": Cost(0, 0, 15.1),
    "enqueue_many with keys": Cost(0, 0, 17.1),
    "enqueue_many with known keys": Cost(0, 0, 20.0),
    "claim and acknowledge": Cost(0, 0, 8.0),
}


@pytest.mark.parametrize("name", COSTS)
def test_a_path_costs_no_more_than_before(name: str, acts: Acts) -> None:
    cost = cost_of(partial(acts.ready, name), acts.wire)

    assert_as_before(cost, COSTS[name])


@pytest.mark.parametrize("name", EACH)
def test_one_more_costs_no_more_than_before(name: str, acts: Acts) -> None:
    cost = cost_of_each(partial(acts.ready, name), acts.wire)

    assert_as_before(cost, EACH[name])


def test_a_lookup_for_each_task_would_be_noticed(acts: Acts) -> None:
    def wasteful(count: int = 1) -> Act:
        act = acts.ready("enqueue_many", count)

        def with_lookups() -> None:
            act()
            lookups = [Task.objects.filter(idempotency_key=str(n)) for n in range(count)]
            assert len(lookups) == count

        return with_lookups

    cost = cost_of_each(wasteful, acts.wire)

    assert cost.calls > EACH["enqueue_many"].calls * MORE


def assert_as_before(cost: Cost, before: Cost) -> None:
    assert (cost.trips, cost.statements) == (before.trips, before.statements), cost
    if sys.version_info[:2] == COUNTED_ON:
        assert cost.calls <= before.calls * MORE, cost
        assert cost.calls >= before.calls * FEWER, f"better than before: note {cost}"


def cost_of(ready: Callable[[], Act], wire: Callable[[], PGconn]) -> Cost:
    """Count an act, each time made ready anew, after its statements and caches are prepared."""
    for _ in range(2):
        ready()()
    messages = trace_of(ready(), wire())
    return Cost(len(waits_in(messages)), len(statements_in(messages)), calls_of(ready()))


def cost_of_each(ready: Callable[[int], Act], wire: Callable[[], PGconn]) -> Cost:
    """Count what one more costs, by the difference between 20 and 120."""
    few, many = (cost_of(partial(ready, count), wire) for count in (20, 120))
    return Cost(
        (many.trips - few.trips) / 100,
        (many.statements - few.statements) / 100,
        (many.calls - few.calls) / 100,
    )


class Acts:
    """Acts to count, each with all that it needs."""

    def __init__(self, company: Company, store: TaskStore) -> None:
        self._company = company
        self._store = store
        self._caller = key_of(company.id)
        self._job = factories.job(company_id=company.id)
        factories.application(self._job)
        self._is_worker = False

    def wire(self) -> PGconn:
        """Return the connection that the act made ready last will use."""
        if self._is_worker:
            return self._store.connection._connected().pgconn
        return connection.connection.pgconn

    def ready(self, name: str, count: int = 1) -> Act:
        """Make an act ready to be counted once."""
        connection.ensure_connection()
        made: dict[str, Callable[[int], Act]] = {
            "apply": self._apply,
            "leave, with a promotion": self._leave,
            "acknowledge": self._acknowledge,
            "read a position": lambda _: partial(read_application, self._waiting().id),
            "read an application over HTTP": self._read,
            "decay": self._decay,
            "enqueue": lambda _: partial(enqueue, "test.noop", {"n": 1}),
            "enqueue_many": self._enqueue,
            "enqueue_many with keys": partial(self._enqueue, with_keys=True),
            "enqueue_many with known keys": partial(self._enqueue, with_keys=True, again=True),
            "enqueue over HTTP": self._start,
            "claim one": self._claim,
            "claim and acknowledge": partial(self._claim, acknowledges=True),
        }
        return made[name](count)

    def _waiting(self) -> Any:
        return factories.application(self._job)

    def _apply(self, _: int) -> Act:
        person = factories.applicant()
        actor = factories.as_applicant(person.id)
        return partial(apply, job_id=self._job, applicant_id=person.id, name="Ann", actor=actor)

    def _leave(self, _: int) -> Act:
        holder, *_rest = factories.applications(factories.job(), 3)
        return partial(withdraw, application_id=holder.id, actor=factories.owner_of(holder))

    def _acknowledge(self, _: int) -> Act:
        person = factories.application(factories.job(acknowledge_first_seat=True))
        return partial(acknowledge, application_id=person.id, actor=factories.owner_of(person))

    def _read(self, _: int) -> Act:
        application = self._waiting()
        return partial(signed_in(application.applicant).get, f"/applications/{application.id}")

    def _decay(self, count: int) -> Act:
        job = factories.job(capacity=count, acknowledge_first_seat=True)
        factories.applications(job, 2 * count)
        let_time_pass(job, factories.WINDOW)
        return settle_next_due

    def _enqueue(self, count: int, *, with_keys: bool = False, again: bool = False) -> Act:
        first = Task.objects.count()
        keys = [f"{first + n}" if with_keys else None for n in range(count)]
        tasks = [NewTask("test.noop", {"n": 1}, idempotency_key=key) for key in keys]
        if again:
            enqueue_many(tasks)
        return partial(enqueue_many, tasks)

    def _start(self, _: int) -> Act:
        return partial(self._caller.post, "/tasks", {"type": "demo.sleep"})

    def _claim(self, count: int, *, acknowledges: bool = False) -> Act:
        self._is_worker = True
        enqueue_many([NewTask("test.noop", {"n": n}) for n in range(count)])

        def act() -> None:
            found, _ = self._store.claim(count)
            assert len(found) == count
            if acknowledges:
                results = [(each, each.succeeded(0.01, None, self._store.worker)) for each in found]
                accepted = self._store.connection.acknowledge([each for _, each in results])
                self._store.announce(results, accepted)
                assert len(accepted) == count

        return act


@pytest.fixture
def acts(company: Company) -> Iterator[Acts]:
    store = TaskStore("w1", Options())
    yield Acts(company, store)
    store.connection.close()
