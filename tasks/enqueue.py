"""Enqueueing: one INSERT in the caller's transaction, and a wake-up after its commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from tasks import log_context, registry, tracing
from tasks.errors import OutOfRange
from tasks.json import as_json
from tasks.models import HIGHEST_PRIORITY, LOWEST_PRIORITY, MOST_ATTEMPTS, Task
from tasks.payloads import CheckedPayload, check_payload
from tasks.sql.enqueue import ENQUEUE_PARTS, WAKE
from tasks.sql.prepared import PreparedStatement

LONGEST_DELAY_SECONDS = 366 * 86_400.0
LONGEST_KEY = 256  # characters

# Returns, for each task whose type has a row: its number, the type's id, and the task's id if it is
# new.
ENQUEUE = f"""
WITH {ENQUEUE_PARTS}
SELECT n, type_id, CASE WHEN id IN (SELECT id FROM tasks_made) THEN id END
FROM tasks_given ORDER BY n
"""  # noqa: S608  a constant
_ENQUEUE = PreparedStatement(ENQUEUE)


@dataclass(frozen=True)
class NewTask:
    """Task to enqueue.

    `enqueue` checks `payload` unless it is already checked (`payloads.check_payload`); None counts
    as an empty object. `version` defaults to the newest version that this process knows,
    `max_attempts` and `queue` to those of the type. `run_after`, an aware time, takes precedence
    over `delay_seconds`. `owner_id` is the company the task runs for. `producer` names the caller.
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
    """Result of enqueueing. For a known idempotency key, the id is that of the first task."""

    id: UUID
    is_new: bool


def enqueue(key: str, payload: Any = None, **options: Any) -> Enqueued:
    """Enqueue one task in the caller's transaction; the options are fields of `NewTask`.

    Raises UnknownType, InvalidPayload, PayloadTooLarge, OutOfRange.
    """
    return enqueue_many([NewTask(key, payload, **options)])[0]


def enqueue_many(tasks: Sequence[NewTask]) -> list[Enqueued]:
    """Enqueue all tasks or none, in one statement. Results keep the order of the tasks."""
    rows = _build_rows(tasks)
    found = _insert_enqueued(rows)
    if len(found) < len(rows):  # the first use of a type in this database
        registry.write_registered_types()
        found |= _insert_enqueued([row for row in rows if row["n"] not in found])
    wake_workers_later()
    return [_enqueued(row, *found[row["n"]]) for row in rows]


def enqueue_parameter(tasks: Sequence[NewTask]) -> tuple[str, list[UUID]]:
    """Return the parameter `tasks` of `sql.enqueue.ENQUEUE_PARTS`, and the ids of the new tasks.

    Use it in a statement that writes tasks together with other rows; afterwards call
    `wake_workers_later`. The types need rows, which `migrate` or a starting
    worker writes.
    Raises the errors of `enqueue`.
    """
    rows = _build_rows(tasks)
    return as_json(rows), [UUID(row["id"]) for row in rows]


def wake_workers_later() -> None:
    """Wake sleeping workers after the commit; further calls in the transaction do nothing."""
    if not any(entry[1] is wake_workers for entry in connection.run_on_commit):
        transaction.on_commit(wake_workers, robust=True)


def wake_workers() -> None:
    """Wake sleeping workers now."""
    with connection.cursor() as cursor:
        cursor.execute(WAKE)


def _enqueued(row: dict[str, Any], type_id: int, new_id: UUID | None) -> Enqueued:
    if new_id:
        return Enqueued(new_id, is_new=True)
    # Only a later statement has a snapshot that shows the first task of an idempotency key.
    first = Task.objects.values_list("id", flat=True).filter(
        type_id=type_id, owner_id=row["owner_id"], idempotency_key=row["idempotency_key"]
    )
    return Enqueued(first.get(), is_new=False)


def _insert_enqueued(rows: list[dict[str, Any]]) -> dict[int, tuple[int, UUID | None]]:
    """Insert rows with a prepared statement: planning takes longer than running it."""
    return {n: (type_id, new_id) for n, type_id, new_id in _ENQUEUE.all(tasks=as_json(rows))}


def _build_rows(tasks: Sequence[NewTask]) -> list[dict[str, Any]]:
    request_id, trace = (
        str(log_context.current_fields().get("request_id", "")),
        tracing.current_trace(),
    )
    return [{"n": n, "trace": trace} | _build_row(task, request_id) for n, task in enumerate(tasks)]


def _build_row(task: NewTask, current_request_id: str) -> dict[str, Any]:
    checked = task.payload
    if not isinstance(checked, CheckedPayload):
        spec = registry.find_registered_type(task.key, task.version)
        checked = check_payload(spec, {} if checked is None else checked)
    _check_limit("priority", task.priority, LOWEST_PRIORITY, HIGHEST_PRIORITY)
    _check_limit("delay_seconds", task.delay_seconds, 0, LONGEST_DELAY_SECONDS)
    if task.max_attempts is not None:
        _check_limit("max_attempts", task.max_attempts, 1, MOST_ATTEMPTS)
    if task.idempotency_key is not None:
        _check_limit("length of idempotency_key", len(task.idempotency_key), 1, LONGEST_KEY)
    return {
        "id": str(uuid7()),
        "key": checked.spec.key,
        "version": checked.spec.version,
        "payload": checked.json,
        "priority": task.priority,
        "run_after": task.run_after,
        "delay_seconds": task.delay_seconds,
        "max_attempts": task.max_attempts,
        "queue": task.queue,
        "idempotency_key": task.idempotency_key,
        "owner_id": task.owner_id,
        "producer": task.producer,
        "request_id": current_request_id if task.request_id is None else task.request_id,
    }


def _check_limit(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        raise OutOfRange(name, value, lowest, highest)
