"""Enqueueing: one INSERT in the caller's transaction, and a wake-up after its commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import structlog
from django.db import connection, transaction
from uuid_utils.compat import uuid7

from tasks import registry, tracing
from tasks.errors import OutOfRange
from tasks.json import as_json
from tasks.models import Task
from tasks.models.statuses import HIGHEST_PRIORITY, LOWEST_PRIORITY, MOST_ATTEMPTS
from tasks.payloads import checked
from tasks.sql.enqueue import ENQUEUE, WAKE

LONGEST_DELAY_SECONDS = 366 * 86_400.0
LONGEST_KEY = 256  # characters


@dataclass(frozen=True)
class NewTask:
    """What is to be done; `run_after`, an aware time, goes before `delay_seconds`.

    Without a version it is the newest that this process knows; `max_attempts` and `queue` are the
    type's unless given. `owner_id` is the company for which it runs, `producer` who asks for it.
    """

    key: str
    payload: Any = None
    version: int | None = None
    priority: int = 0
    run_after: datetime | None = None
    delay_seconds: float = 0.0
    max_attempts: int | None = None
    queue: str | None = None
    idempotency_key: str | None = None
    owner_id: UUID | None = None
    producer: str = ""
    request_id: str | None = None


@dataclass(frozen=True)
class Enqueued:
    """A task's id, and whether it was made now: a known idempotency key gives the first one."""

    id: UUID
    is_new: bool


def enqueue(key: str, payload: Any = None, **options: Any) -> Enqueued:
    """Enqueue one task within the caller's transaction; see `NewTask` for the options.

    Raises UnknownType, InvalidPayload, PayloadTooLarge, OutOfRange.
    """
    return enqueue_many([NewTask(key, payload, **options)])[0]


def enqueue_many(tasks: Sequence[NewTask]) -> list[Enqueued]:
    """Enqueue all of them, or none, by one statement; the answers are in the same order."""
    rows = [_row(n, task) for n, task in enumerate(tasks)]
    found = _insert(rows)
    if len(found) < len(rows):  # the first use of a type in this database
        registry.sync()
        found |= _insert([row for row in rows if row["n"] not in found])
    wake_after_commit()
    return [
        Enqueued(new_id, True) if new_id else _first(row, type_id)
        for row, (type_id, new_id) in ((row, found[row["n"]]) for row in rows)
    ]


def as_parameter(tasks: Sequence[NewTask]) -> tuple[str, list[UUID]]:
    """The parameter `tasks` of `sql.ENQUEUE_PARTS`, and the ids that the tasks will have.

    For a statement of the caller's own that writes them along with something else. It raises what
    `enqueue` raises. The caller then calls `wake_after_commit`. The types' rows are there after
    `migrate`, and once a worker has started.
    """
    rows = [_row(n, task) for n, task in enumerate(tasks)]
    return as_json(rows), [UUID(row["id"]) for row in rows]


def wake_after_commit() -> None:
    """Wake a sleeping worker once the transaction has been committed; once, however often asked."""
    if not any(entry[1] is wake for entry in connection.run_on_commit):
        transaction.on_commit(wake, robust=True)


def wake() -> None:
    """Wake the workers now, if one may sleep."""
    with connection.cursor() as cursor:
        cursor.execute(WAKE)


def _insert(rows: list[dict[str, Any]]) -> dict[int, tuple[int, UUID | None]]:
    """Prepared once for each connection: planning it takes longer than doing it."""
    with connection.cursor() as cursor, connection.wrap_database_errors:
        session = psycopg.Cursor(cursor.connection)
        session.execute(ENQUEUE, {"tasks": as_json(rows)}, prepare=True)
        return {n: (type_id, new_id) for n, type_id, new_id in session.fetchall()}


def _first(row: dict[str, Any], type_id: int) -> Enqueued:
    """The task that has the key already; a statement of its own, whose snapshot is newer."""
    first = Task.objects.values_list("id", flat=True).get(
        type_id=type_id, owner_id=row["owner_id"], idempotency_key=row["idempotency_key"]
    )
    return Enqueued(first, is_new=False)


def _row(n: int, task: NewTask) -> dict[str, Any]:
    kind = registry.find(task.key, task.version)
    _within("priority", task.priority, LOWEST_PRIORITY, HIGHEST_PRIORITY)
    _within("delay_seconds", task.delay_seconds, 0, LONGEST_DELAY_SECONDS)
    if task.max_attempts is not None:
        _within("max_attempts", task.max_attempts, 1, MOST_ATTEMPTS)
    if task.idempotency_key is not None:
        _within("length of idempotency_key", len(task.idempotency_key), 1, LONGEST_KEY)
    request_id = task.request_id
    if request_id is None:
        request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    return {
        "n": n,
        "id": str(uuid7()),
        "key": kind.key,
        "version": kind.version,
        "payload": checked(kind, {} if task.payload is None else task.payload),
        "priority": task.priority,
        "run_after": task.run_after,
        "delay_seconds": task.delay_seconds,
        "max_attempts": task.max_attempts,
        "queue": task.queue,
        "idempotency_key": task.idempotency_key,
        "owner_id": task.owner_id,
        "producer": task.producer,
        "request_id": request_id,
        "trace": tracing.current(),
    }


def _within(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        raise OutOfRange(name, value, lowest, highest)
