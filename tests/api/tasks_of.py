"""Background work in tests of the API: no worker runs, so tasks are moved on by hand."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from tasks.enqueue import enqueue
from tasks.models import Task
from tasks.models.statuses import Status

ERROR = {
    "class": "RuntimeError",
    "message": "told to fail",
    "attempt": 3,
    "traceback": "Traceback (most recent call last): …",
    "at": "2026-01-31T12:00:00.000000+00:00",
    "worker": "a-machine-1234",
}


def sleep(owner_id: UUID, *, key: str = "demo.sleep", **payload: Any) -> UUID:
    """A task of a company that waits."""
    return enqueue(key, payload, owner_id=owner_id).id


def dead_sleep(owner_id: UUID, **payload: Any) -> UUID:
    """A task of a company that has failed for good."""
    task_id = sleep(owner_id, **payload)
    move(task_id, status=Status.DEAD, attempt=3, errors=[ERROR], finished_at=Now())
    return task_id


def move(task_id: UUID, **columns: Any) -> None:
    """What a worker would do to a task's row."""
    Task.objects.filter(id=task_id).update(**columns)


def row_of(task_id: UUID | str) -> Task:
    """The task's row as the database has it now."""
    return Task.objects.select_related("type").get(id=task_id)
