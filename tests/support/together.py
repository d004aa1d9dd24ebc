"""Several acts at the same time, each on a separate database connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event, Thread
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from pipeline.line.handover import Turn
from pipeline.line.turns import Turns

PATIENCE_SECONDS = 60


def together(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all acts at one moment; each one's answer, or the exception it raised."""
    gate = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            gate.wait(PATIENCE_SECONDS)
            return act()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def kinds(answers: Sequence[Any]) -> list[str]:
    """The names of the answers' types, in alphabetical order."""
    return sorted(type(answer).__name__ for answer in answers)


@contextmanager
def started(act: Callable[[], Any]) -> Iterator[list[Any]]:
    """Start an act beside the block; after the block, its answer or exception is in the list."""
    answers: list[Any] = []
    thread = Thread(target=lambda: answers.extend(together([act])))
    thread.start()
    yield answers
    thread.join(PATIENCE_SECONDS)
    assert answers, "it never came back"


@contextmanager
def held_lock(job_id: UUID) -> Iterator[None]:
    """Hold the job's lock on another connection while the block runs."""
    held, done = Event(), Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job_id])
            held.set()
            assert done.wait(PATIENCE_SECONDS)

    with started(hold):
        assert held.wait(PATIENCE_SECONDS)
        try:
            yield
        finally:
            done.set()


def wait_until_somebody_waits_for_a_lock(unless: Event | None = None) -> None:
    """Return once some connection to this database is queueing for a lock, or `unless` is set."""
    with connection.cursor() as cursor:
        start = time.monotonic()
        while time.monotonic() - start < PATIENCE_SECONDS:
            if unless and unless.is_set():
                return
            cursor.execute(
                "SELECT count(*), pg_sleep(0.005) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits for a lock")


def take_alone(turns: Turns[Any, Any], job_id: UUID, request: Any) -> Any:
    """Take a turn at a job without waiting for other threads, as another process would."""
    turn: Turn[Any, Any] = Turn(request)
    turns._do_batch(job_id, [turn])
    return turn.outcome()
