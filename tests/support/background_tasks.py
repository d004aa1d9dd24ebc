"""Background tasks of a company. No worker runs: tests move the tasks on by hand."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.utils import timezone

from jobs.models import Company
from pipeline.work.start import TaskRequest, start_tasks
from tasks.enqueue import enqueue
from tasks.models import Status, Task

MEMBER = "member:01a20067-f797-756d-b038-6ee358443f86"
ERROR = {
    "class": "ValueError",
    "message": "no such week",
    "attempt": 3,
    "traceback": 'Traceback:\n  File "/srv/app/pipeline/tasks/reports.py", line 7, in run\n',
    "at": "2026-01-31T12:00:00.000000+00:00",
    "worker": "a-machine-1234",
}


def sleep(owner_id: UUID, *, key: str = "demo.sleep", **payload: Any) -> UUID:
    """Enqueue a task for a company, and return its id."""
    return enqueue(key, payload, owner_id=owner_id).id


def dead_sleep(owner_id: UUID, **payload: Any) -> UUID:
    """Return the id of a company's task that has failed for the last time."""
    task_id = sleep(owner_id, **payload)
    move(task_id, status=Status.DEAD, attempt=3, errors=[ERROR], finished_at=Now())
    return task_id


def started(company: Company, key: str = "demo.sleep", payload: Any = None) -> UUID:
    """Start a task as a member of the company does, and return its id."""
    order = TaskRequest(key, {"seconds": 5} if payload is None else payload)
    return start_tasks(company_id=company.id, producer=MEMBER, requests=[order])[0].id


def dead(company: Company, key: str = "demo.sleep", payload: Any = None, **columns: Any) -> UUID:
    """Return the id of a task that a member started and that is a dead letter."""
    task_id = started(company, key, payload)
    fields = {"status": Status.DEAD, "attempt": 3, "errors": [ERROR], "finished_at": Now()}
    move(task_id, **fields | columns)
    return task_id


def ended(company: Company, result: Any, key: str = "demo.sleep", payload: Any = None) -> UUID:
    """Return the id of a task that a member started and that has succeeded."""
    task_id = started(company, key, payload)
    now = timezone.now()
    fields = {"attempt": 1, "started_at": now, "finished_at": now, "result": result}
    move(task_id, status=Status.SUCCEEDED, **fields)
    return task_id


def move(task_id: UUID, **columns: Any) -> None:
    """Change a task's row, as a worker would."""
    Task.objects.filter(id=task_id).update(**columns)


def row_of(task_id: UUID | str) -> Task:
    """Return the task's row as the database has it now."""
    return Task.objects.select_related("type").get(id=task_id)


def status_of(task_id: UUID) -> str:
    """Return the task's status as the database has it now."""
    return Task.objects.get(id=task_id).status
