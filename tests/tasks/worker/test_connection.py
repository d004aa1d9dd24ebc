"""Failover: a read-only connection leads to the former primary, and is dropped."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from django.db import OperationalError, connection

from tasks.scheduling import schedules
from tasks.worker.chores import Chores
from tasks.worker.connection import Unavailable, WorkerConnection
from tasks.worker.options import Options
from tasks.worker.task_store import TaskStore
from tests.support.waiting import eventually
from tests.tasks.claims import Claimer, claimer
from tests.tasks.seen import add, status

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)

ONLY_READ = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
WRITES = {
    "a claim": lambda worker: worker.claim(),
    "a claim of what is capped": lambda worker: worker.claim(types_=["test.capped"]),
    "a sign of life": lambda worker: worker.beat(),
}


def session_of(connection: WorkerConnection) -> int:
    [(pid,)] = connection.rows("SELECT pg_backend_pid()")
    return int(pid)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_connection_that_only_reads_is_given_up_for_a_new_one(
    claimer: Any, write: Callable[[Claimer], object]
) -> None:
    worker = claimer()
    before = session_of(worker.connection)
    write(worker)
    assert session_of(worker.connection) == before, "one that writes is kept"
    worker.connection.rows(ONLY_READ)

    with pytest.raises(Unavailable):
        write(worker)

    eventually(lambda: worker.connection.is_up)
    write(worker)
    assert session_of(worker.connection) != before


def test_an_end_is_written_once_there_is_a_primary_again(claimer: Any) -> None:
    name = add("test.noop")
    worker = claimer()
    [run] = worker.claim()
    worker.connection.rows(ONLY_READ)

    with pytest.raises(Unavailable):
        worker.succeed(run)
    eventually(lambda: worker.connection.is_up)

    assert worker.succeed(run) == 1
    assert status(name) == "SUCCEEDED"


def test_as_long_as_there_is_none_it_asks_less_and_less_often(
    claimer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> Any:
        raise psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery")

    monkeypatch.setattr("tasks.worker.connection._connect", refuse)
    worker, pauses = claimer().connection, []

    for _ in range(4):
        worker._not_before = time.monotonic()
        with pytest.raises(Unavailable):
            worker.rows("SELECT 1")
        pauses.append(worker.retry_seconds)

    for pause, most in zip(pauses, (0.1, 0.2, 0.4, 0.8), strict=True):
        assert most / 2 - 0.05 < pause <= most


def test_the_chores_take_a_new_connection_too() -> None:
    store = SimpleNamespace(options=Options(), reap=list, park=int)
    chores = Chores(cast(Any, store), lambda attempts: None)
    with connection.cursor() as cursor:
        cursor.execute(ONLY_READ)
    with pytest.raises(OperationalError, match="read-only"):
        schedules.create(name="s", cron="* * * * *", type_key="test.noop")

    chores.run(time.monotonic())

    schedules.create(name="s", cron="* * * * *", type_key="test.noop")


def test_a_worker_that_starts_before_the_failover_ends_finds_the_primary(
    transactional_db: None,
) -> None:
    store = TaskStore("w1", Options())
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM tasks_tasktype; {ONLY_READ}")
    with pytest.raises(Unavailable):
        store.known_types()

    assert store.known_types()
