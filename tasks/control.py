"""Control of tasks and types: cancel, move to the dead letters, pause, resume."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from tasks.enqueue import wake_workers_later
from tasks.errors import TaskNotFound, UnknownType, WrongStatus
from tasks.models import (
    Breaker,
    Status,
    Task,
    TaskAct,
    TaskOwnerBreaker,
    TaskPause,
    TaskType,
    note_action,
)
from tasks.sql.claim import PARKED_AT_ONCE, UNPARK

log = logging.getLogger(__name__)

What = TaskAct.What

# Most tasks that are cancelled in one transaction.
MOST_AT_ONCE = 500

_CANCEL = """
WITH asked AS (
    UPDATE tasks_task SET
        status = CASE status WHEN 'PENDING' THEN 'CANCELLED' ELSE 'CANCELLING' END,
        finished_at = CASE status WHEN 'PENDING' THEN statement_timestamp() END
    WHERE id = %(task)s AND status IN ('PENDING', 'RUNNING')
      AND (%(owner)s::uuid IS NULL OR owner_id = %(owner)s)
    RETURNING id, status, attempt
), events AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT a.id, e.kind, a.attempt, %(actor)s FROM asked a CROSS JOIN LATERAL (
        SELECT 1 AS n, 'cancel_requested' AS kind
        UNION ALL SELECT 2, 'cancelled' WHERE a.status = 'CANCELLED' ORDER BY n) e
)
SELECT status FROM asked
"""
_CANCEL_MANY = """
WITH chosen AS MATERIALIZED (
    SELECT id FROM tasks_task
    WHERE id = ANY(%(tasks)s) AND owner_id = %(owner)s AND status IN ('PENDING', 'RUNNING')
    ORDER BY id FOR UPDATE
), asked AS (
    UPDATE tasks_task SET
        status = CASE status WHEN 'PENDING' THEN 'CANCELLED' ELSE 'CANCELLING' END,
        finished_at = CASE status WHEN 'PENDING' THEN statement_timestamp() END
    WHERE id = ANY(ARRAY(SELECT id FROM chosen))
    RETURNING id, status, attempt
), events AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT a.id, e.kind, a.attempt, %(actor)s FROM asked a CROSS JOIN LATERAL (
        SELECT 1 AS n, 'cancel_requested' AS kind
        UNION ALL SELECT 2, 'cancelled' WHERE a.status = 'CANCELLED' ORDER BY n) e
)
SELECT count(*), bool_or(status = 'CANCELLING') FROM asked
"""
_RUN_NOW = """
WITH due AS (
    UPDATE tasks_task SET run_after = statement_timestamp()
    WHERE id = %(task)s AND status = 'PENDING' AND attempt > 0 AND run_after > statement_timestamp()
      AND (%(owner)s::uuid IS NULL OR owner_id = %(owner)s)
    RETURNING id, attempt
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
SELECT id, 'retry_scheduled', attempt, %(actor)s, '{"delay_seconds": 0}'::jsonb FROM due
"""
_ANNOUNCE_CANCEL = "SELECT pg_notify('tasks', 'cancel')"


def cancel(task_id: UUID, *, actor: str, owner_id: UUID | None = None) -> Status:
    """Cancel a task: a pending one at once, a running one as soon as its child has ended.

    Return the status, CANCELLED or CANCELLING. Cancelling twice is not an error. Raises
    TaskNotFound (also if another owner has the task), and WrongStatus if it has already ended.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CANCEL, {"task": task_id, "owner": owner_id, "actor": actor})
        found = cursor.fetchone()
    status = Status(found[0]) if found else Status(find_task(task_id, owner_id=owner_id).status)
    if status is Status.CANCELLING:
        transaction.on_commit(_announce_cancel, robust=True)
    elif status is not Status.CANCELLED:
        raise WrongStatus(task_id, status, "pending or running")
    return status


def cancel_many(task_ids: Collection[UUID], *, actor: str, owner_id: UUID) -> int:
    """Cancel those of an owner's tasks that are pending or running, and return how many they are.

    Give at most MOST_AT_ONCE: their rows are locked until the transaction ends.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CANCEL_MANY, {"tasks": list(task_ids), "owner": owner_id, "actor": actor})
        cancelled, has_running = cursor.fetchone()
    if has_running:
        transaction.on_commit(_announce_cancel, robust=True)
    return int(cancelled)


def run_now(task_id: UUID, *, actor: str, owner_id: UUID | None = None) -> None:
    """Have a task that waits for its retry run as soon as a worker is free.

    Raises TaskNotFound (also if another owner has the task), and WrongStatus if it does not wait
    for a retry.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RUN_NOW, {"task": task_id, "owner": owner_id, "actor": actor})
        if not cursor.rowcount:
            status = find_task(task_id, owner_id=owner_id).status
            raise WrongStatus(task_id, status, "pending, to be retried later")
    wake_workers_later()


def _announce_cancel() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ANNOUNCE_CANCEL)


@transaction.atomic
def pause(
    key: str, *, actor: str, version: int | None = None, owner_id: UUID | None = None
) -> None:
    """Pause a type: the given version, or all versions.

    With an owner, only that owner's tasks wait; without one, everyone's do. Running tasks
    continue. Pausing twice is not an error. Raises UnknownType.
    """
    rows = _controlled_types(key, version, lock=owner_id is None)
    log.info("%s was paused by %s for %s", key, actor, owner_id or "everyone")
    if owner_id is None:
        note_action(What.PAUSED, _type_name(key, version), actor=actor)
        _change_controlled_types(rows, paused=True, paused_by=actor)
        return
    pauses = [TaskPause(type_id=row.id, owner_id=owner_id, actor=actor) for row in rows]
    had = TaskPause.objects.filter(type__in=rows, owner_id=owner_id).count()
    TaskPause.objects.bulk_create(pauses, ignore_conflicts=True)
    if had < len(rows):
        note_action(What.PAUSED, _type_name(key, version), actor=actor, owner_id=owner_id)


@transaction.atomic
def resume(
    key: str, *, actor: str, version: int | None = None, owner_id: UUID | None = None
) -> None:
    """Resume a type that the owner paused or, without an owner, that is paused for everyone.

    Breakers close too: the owner's or, without an owner, the type's own and those of all owners.
    Resuming twice is not an error. Raises UnknownType.
    """
    rows = _controlled_types(key, version, lock=owner_id is None)
    log.info("%s was resumed by %s for %s", key, actor, owner_id or "everyone")
    wake_workers_later()
    if owner_id is not None:
        if TaskPause.objects.filter(type__in=rows, owner_id=owner_id).delete()[0]:
            note_action(What.RESUMED, _type_name(key, version), actor=actor, owner_id=owner_id)
        _close_controlled_breakers(rows, actor=actor, owner_id=owner_id)
        with connection.cursor() as cursor:
            cursor.execute(UNPARK, {"batch": PARKED_AT_ONCE})  # workers release the others
        return
    note_action(What.RESUMED, _type_name(key, version), actor=actor)
    for row in rows:
        if row.breaker == Breaker.OPEN:
            note_action(What.BREAKER_CLOSED, str(row), actor=actor)
    _close_controlled_breakers(rows, actor=actor)
    closed: dict[str, Any] = {"breaker": Breaker.CLOSED, "breaker_changed_at": Now()}
    _change_controlled_types(rows, paused=False, paused_by="", breaker_probe_at=None, **closed)


def paused_types(owner_id: UUID) -> dict[str, str]:
    """Map the key of each type that an owner has paused to the actor who paused it."""
    found = TaskPause.objects.filter(owner_id=owner_id).order_by("type__key", "-at")
    return dict(found.values_list("type__key", "actor"))


def broken_types(owner_id: UUID) -> dict[str, datetime]:
    """Map the key of each type whose breaker is open for this owner alone to when it opened."""
    found = TaskOwnerBreaker.objects.filter(owner_id=owner_id, breaker=Breaker.OPEN)
    return dict(found.values_list("type__key", "changed_at"))


def find_task(task_id: UUID, *, owner_id: UUID | None = None) -> Task:
    """Find a task with its type. Raises TaskNotFound, also if another owner has the task."""
    tasks = Task.objects.select_related("type").filter(id=task_id)
    if owner_id is not None:
        tasks = tasks.filter(owner_id=owner_id)
    task = tasks.first()
    if task is None:
        raise TaskNotFound(task_id)
    return task


def _controlled_types(key: str, version: int | None, *, lock: bool) -> list[TaskType]:
    """Find a type's rows. Lock them only to change what affects everyone: claims wait for it."""
    rows = TaskType.objects.filter(key=key).order_by("id")
    if lock:
        rows = rows.select_for_update(no_key=True)
    if version is not None:
        rows = rows.filter(version=version)
    found = list(rows)
    if not found:
        raise UnknownType(key, version)
    return found


def _close_controlled_breakers(
    rows: list[TaskType], *, actor: str, owner_id: UUID | None = None
) -> None:
    found = TaskOwnerBreaker.objects.filter(type__in=rows, breaker=Breaker.OPEN)
    if owner_id is not None:
        found = found.filter(owner_id=owner_id)
    for each in found.select_related("type").order_by("id").select_for_update(of=("self",)):
        note_action(What.BREAKER_CLOSED, str(each.type), actor=actor, owner_id=each.owner_id)
        each.breaker, each.probe_at = Breaker.CLOSED, None
        each.changed_at = Now()
        each.save(update_fields=["breaker", "probe_at", "changed_at"])


def _type_name(key: str, version: int | None) -> str:
    return key if version is None else f"{key}@{version}"


def _change_controlled_types(rows: list[TaskType], **columns: Any) -> None:
    TaskType.objects.filter(id__in=[row.id for row in rows]).update(**columns)
