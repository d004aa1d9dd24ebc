"""A snapshot that somebody holds does not make claims go through all the tasks that have ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Task
from tasks.sql.claim import CLAIMS
from tasks.worker.options import Options
from tasks.worker.task_store import EVERYTHING, NEXT_DUE, REAP, TaskStore

pytestmark = pytest.mark.django_db(transaction=True)

ENDED = 16_000


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskStore]:
    """A worker's store that takes each look at everything for a slow one."""
    monkeypatch.setattr("tasks.worker.task_store.SLOW_LOOK_SECONDS", 0.0)
    monkeypatch.setattr("tasks.worker.task_store.LOOK_SHARE", 1e9)
    monkeypatch.setattr("tasks.worker.task_store.LONGEST_PAUSE_SECONDS", 1e9)
    made = TaskStore("w1", Options())
    yield made
    made.connection.close()


@pytest.fixture
def new_files(transactional_db: None) -> None:
    """Count no page of what other tests have left behind in the table and in its indexes."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE tasks_task CASCADE")


@pytest.fixture
def held_snapshot(new_files: None) -> Iterator[None]:
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT count(*) FROM tasks_tasktype")
        yield


def pages_read(store: TaskStore, statement: str, **more: Any) -> int:
    """Pages that a statement of the worker reads."""
    given = {"types": list(store.known_types()), "queues": None, "looked": timezone.now()} | more
    given |= {"limit": 1, "reach": 9, "worker": "w1", "lease": 30.0, "after": "{}"}
    explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
    [(plan,)] = store.connection.rows(explained, given)
    return int(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])


def test_a_claim_begins_behind_the_entries_of_ended_tasks(
    store: TaskStore, held_snapshot: None
) -> None:
    statements = (CLAIMS[False, False], NEXT_DUE)
    enqueue("test.noop")
    store.claim(1)
    usual = []
    for statement in statements:
        enqueue("test.noop")
        pages_read(store, statement, lanes=EVERYTHING)  # prepares the session
        enqueue("test.noop")
        usual.append(pages_read(store, statement, lanes=EVERYTHING))
    past = timezone.now() - timedelta(minutes=1)
    enqueue_many([NewTask("test.noop", run_after=past)] * ENDED)
    Task.objects.filter(status="PENDING").update(status="SUCCEEDED")
    known = store._known_lanes()

    for before, statement in zip(usual, statements, strict=True):
        enqueue("test.noop")
        few = pages_read(store, statement, lanes=known)
        enqueue("test.noop")
        many = pages_read(store, statement, lanes=EVERYTHING)  # the control

        assert few <= 1.2 * before < many / 3


def test_the_reaper_looks_at_leases_that_have_ended_since_its_last_look(
    store: TaskStore, held_snapshot: None
) -> None:
    enqueue_many([NewTask("test.noop")] * ENDED)
    ended = timezone.now() - timedelta(minutes=1)
    Task.objects.update(status="RUNNING", lease_until=ended)
    Task.objects.update(status="SUCCEEDED", lease_until=None)

    # A look at nothing: some pages for each type of task, however many there are.
    least = pages_read(store, REAP, since=0.0, most=1_000)
    few = pages_read(store, REAP, since=30.0, most=1_000)
    many = pages_read(store, REAP, since=None, most=1_000)  # the control
    assert few - least < (many - least) / 5

    [expired, _renewed] = [enqueue("test.noop").id for _ in range(2)]
    store.reap()
    now = timezone.now()
    Task.objects.filter(status="PENDING").update(
        status="RUNNING", attempt=1, worker="w2", lease_until=now + timedelta(minutes=1)
    )
    Task.objects.filter(id=expired).update(lease_until=now)
    assert store._reap_all_at > 0
    store.reap()
    assert list(Task.objects.filter(status="PENDING").values_list("id", flat=True)) == [expired]


def test_statistics_of_a_moment_with_many_ended_leases_send_the_reaper_through_no_other_tasks(
    store: TaskStore, new_files: None
) -> None:
    def pages_with_new_statistics() -> int:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE tasks_task")
        return pages_read(store, REAP, since=None, most=1)

    enqueue_many([NewTask("test.noop")] * 4_000)
    ended = timezone.now() - timedelta(minutes=1)
    Task.objects.update(status="RUNNING", lease_until=ended)
    pages_with_new_statistics()
    Task.objects.update(status="SUCCEEDED", lease_until=None)

    outdated = pages_read(store, REAP, since=None, most=1_000)

    assert outdated < 5 * pages_with_new_statistics()


def test_a_look_from_the_floors_finds_new_lanes_and_what_was_committed_a_moment_late(
    store: TaskStore,
) -> None:
    enqueue("test.noop")
    store.claim(1)
    moment = timezone.now() - timedelta(seconds=0.5)
    expected = {
        enqueue("test.noop", run_after=moment).id,
        enqueue("test.noop", priority=7).id,
        enqueue("test.noop", priority=-7).id,
        enqueue("test.hog").id,
    }

    assert store._known_lanes() != EVERYTHING
    assert {each.task_id for each in store.claim(9)[0]} == set(map(str, expected))


def test_what_comes_back_below_a_floor_is_found_by_the_next_look_at_everything(
    store: TaskStore,
) -> None:
    enqueue("test.noop")
    store.claim(1)
    old = enqueue("test.noop", run_after=timezone.now() - timedelta(minutes=1))

    before = store.claim(1)[0]
    store._look_at = 0.0
    after = store.claim(1)[0]

    assert (before, [each.task_id for each in after]) == ([], [str(old.id)])
