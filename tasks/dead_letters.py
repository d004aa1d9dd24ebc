"""Dead letters: permanently failed tasks, kept until a person replays or discards them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from tasks import registry
from tasks.control import find_task
from tasks.enqueue import wake_workers_later
from tasks.errors import ConfirmationNeeded, WrongStatus
from tasks.json import as_json
from tasks.models import Status, Task, TaskType
from tasks.payloads import check_payload

MOST_AT_ONCE = 10_000
MOST_OF_A_REASON = 500

_MOVE_TO_DEAD_LETTERS = """
WITH moved AS (
    UPDATE tasks_task SET status = 'DEAD', finished_at = statement_timestamp()
    WHERE id = %(task)s AND status = 'PENDING'
      AND (%(owner)s::uuid IS NULL OR owner_id = %(owner)s)
    RETURNING id, attempt
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
SELECT id, 'dead', attempt, %(actor)s, %(data)s::jsonb FROM moved
"""

_REPLAY = """
WITH chosen AS MATERIALIZED (
    SELECT t.id FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id
    WHERE t.status = 'DEAD' AND (%(task)s::uuid IS NULL OR t.id = %(task)s)
      AND (%(key)s::text IS NULL OR k.key = %(key)s)
      AND (%(owner)s::uuid IS NULL OR t.owner_id = %(owner)s)
    ORDER BY t.id LIMIT %(limit)s FOR UPDATE OF t SKIP LOCKED
), back AS (
    UPDATE tasks_task t SET status = 'PENDING', attempt = 0, finished_at = NULL, worker = '',
        run_after = statement_timestamp(), progress = NULL, result = NULL,
        payload = coalesce(%(payload)s::jsonb, t.payload),
        errors = jsonb_path_query_array(t.errors, '$[last - 19 to last]')
    WHERE t.id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING t.id
)
INSERT INTO tasks_taskevent (task_id, kind, actor, data)
SELECT id, 'replayed', %(actor)s,
    CASE WHEN %(payload)s::jsonb IS NOT NULL THEN '{"edited": true}'::jsonb END
FROM back
"""

_DISCARD = """
WITH gone AS (
    UPDATE tasks_task SET status = 'DISCARDED', finished_at = statement_timestamp()
    WHERE id = %(task)s AND status = 'DEAD' RETURNING id
)
INSERT INTO tasks_taskevent (task_id, kind, actor) SELECT id, 'discarded', %(actor)s FROM gone
"""


def add(task_id: UUID, *, actor: str, owner_id: UUID | None = None, reason: str = "") -> None:
    """Keep a pending task from running until a person replays it.

    Raises TaskNotFound (also if another owner has the task), and WrongStatus if it is not pending.
    """
    data = as_json({"buried": True} | ({"reason": reason[:MOST_OF_A_REASON]} if reason else {}))
    given = {"task": task_id, "owner": owner_id, "actor": actor, "data": data}
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_TO_DEAD_LETTERS, given)
        if cursor.rowcount:
            return
    raise WrongStatus(task_id, find_task(task_id, owner_id=owner_id).status, "pending")


def read_page(
    *,
    key: str | None = None,
    owner_id: UUID | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[Task]:
    """List dead tasks with their types, oldest first, starting behind the task `after`."""
    found = Task.objects.select_related("type").filter(status=Status.DEAD).order_by("id")
    if key is not None:
        types = TaskType.objects.filter(key=key).values_list("id", flat=True)
        found = found.filter(type_id__in=list(types))
    if owner_id is not None:
        found = found.filter(owner_id=owner_id)
    if after is not None:
        found = found.filter(id__gt=after)
    return list(found[:limit])


def replay(
    task_id: UUID, *, actor: str, owner_id: UUID | None = None, confirmed: bool = False
) -> None:
    """Run a dead task again with all its attempts. Its errors stay in its history.

    Raises TaskNotFound, WrongStatus and, for a sensitive type, ConfirmationNeeded.
    """
    _replay(task_id, actor, owner_id, confirmed=confirmed, payload=None)


def edit_and_replay(
    task_id: UUID,
    payload: Any,
    *,
    actor: str,
    owner_id: UUID | None = None,
    confirmed: bool = False,
) -> None:
    """Run a dead task again with another payload.

    Raises what `replay` raises, and InvalidPayload, PayloadTooLarge, UnknownType.
    """
    task = find_task(task_id, owner_id=owner_id)
    checked = check_payload(
        registry.find_registered_type(task.type.key, task.type.version), payload
    )
    _replay(task_id, actor, owner_id, confirmed=confirmed, payload=checked.json)


def replay_type(
    key: str,
    *,
    actor: str,
    limit: int = 100,
    owner_id: UUID | None = None,
    confirmed: bool = False,
) -> int:
    """Run the oldest dead tasks of a type again, at most 10,000; return how many.

    Raises ConfirmationNeeded.
    """
    _require_confirmation(key, TaskType.objects.filter(key=key, sensitive=True).exists(), confirmed)
    given = {"task": None, "key": key, "limit": min(limit, MOST_AT_ONCE)}
    count = _run_statement(_REPLAY, given | {"owner": owner_id, "actor": actor, "payload": None})
    wake_workers_later()
    return count


def discard(task_id: UUID, *, actor: str, owner_id: UUID | None = None) -> None:
    """Discard a dead task. Raises TaskNotFound, WrongStatus."""
    task = find_task(task_id, owner_id=owner_id)
    if not _run_statement(_DISCARD, {"task": task_id, "actor": actor}):
        raise WrongStatus(task_id, task.status, "dead")


def _replay(
    task_id: UUID, actor: str, owner_id: UUID | None, *, confirmed: bool, payload: str | None
) -> None:
    task = find_task(task_id, owner_id=owner_id)
    _require_confirmation(task.type.key, task.type.sensitive, confirmed)
    given = {"task": task_id, "key": None, "limit": 1, "owner": owner_id}
    if not _run_statement(_REPLAY, given | {"actor": actor, "payload": payload}):
        raise WrongStatus(task_id, task.status, "dead")
    wake_workers_later()


def _require_confirmation(key: str, is_sensitive: bool, confirmed: bool) -> None:
    if is_sensitive and not confirmed:
        raise ConfirmationNeeded(key)


def _run_statement(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
