"""Observations for the tests: marks left by handlers, tasks and their events."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Sum

from tasks.enqueue import enqueue
from tasks.models import Task, TaskEvent, TaskTally


def marks(name: str) -> int:
    """Count the marks of this name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM task_marks WHERE name = %s", [name])
        return int(cursor.fetchone()[0])


def add(key: str, **payload: object) -> UUID:
    """Enqueue a task with this payload."""
    return enqueue(key, payload).id


def status(task_id: UUID) -> str:
    return str(Task.objects.values_list("status", flat=True).get(id=task_id))


def task(task_id: UUID) -> Task:
    return Task.objects.get(id=task_id)


def events(task_id: UUID) -> list[str]:
    """The kinds of what happened, in order."""
    found = TaskEvent.objects.filter(task_id=task_id).order_by("id")
    return list(found.values_list("kind", flat=True))


def ended_runs(key: str = "test.noop") -> dict[str, Any]:
    """Numbers of a type's ended attempts, and their seconds, as they were counted."""
    columns = ("succeeded", "failed", "retried", "dead", "discarded", "seconds")
    found = TaskTally.objects.filter(type__key=key)
    return found.aggregate(**{column: Sum(column) for column in columns})
