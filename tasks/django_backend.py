"""The backend for `django-tasks`: its tasks run in our engine, each function as a type of its own.

    TASKS = {"default": {"BACKEND": "tasks.django_backend.DurableBackend", "QUEUES": []}}

A function's type has its dotted path as key, and the limits that `limits(...)` gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.utils.module_loading import import_string
from django_tasks.backends.base import BaseTaskBackend
from django_tasks.base import Task as DjangoTask
from django_tasks.base import TaskContext, TaskError, TaskResult, TaskResultStatus
from django_tasks.exceptions import TaskResultDoesNotExist
from django_tasks.signals import task_enqueued
from django_tasks.utils import normalize_json

from tasks.context import Context
from tasks.enqueue import enqueue
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.registry import TaskSpec, find, register

F = TypeVar("F", bound=Callable[..., Any])

SCHEMA = {
    "type": "object",
    "properties": {"args": {"type": "array"}, "kwargs": {"type": "object"}},
    "required": ["args", "kwargs"],
    "additionalProperties": False,
}
_STATUS = {
    Status.PENDING: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.CANCELLING: TaskResultStatus.RUNNING,
    Status.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    Status.CANCELLED: TaskResultStatus.FAILED,
    Status.DEAD: TaskResultStatus.FAILED,
    Status.DISCARDED: TaskResultStatus.FAILED,
}


def limits(**of_type: Any) -> Callable[[F], F]:
    """Under `@task`, say how the engine runs the function: timeout_seconds, cap, see `TaskSpec`."""

    def wrap(function: F) -> F:
        function.task_limits = of_type  # type: ignore[attr-defined]  # @task reads it
        return function

    return wrap


class DurableBackend(BaseTaskBackend):
    """Rows in PostgreSQL, written in the caller's transaction."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def validate_task(self, task: DjangoTask) -> None:
        """Check a task as it is made, and register its function as a type."""
        super().validate_task(task)
        _register(task)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> TaskResult:
        """Enqueue within the caller's transaction."""
        self.validate_task(task)
        payload = {"args": normalize_json(list(args)), "kwargs": normalize_json(kwargs)}
        made = enqueue(
            task.module_path,
            payload,
            priority=task.priority,
            run_after=task.run_after,
            queue=task.queue_name,
        )
        result = self._result(task, Task(id=made.id, payload=payload, status=Status.PENDING))
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """A task's state. Raises TaskResultDoesNotExist, also for a task of another making."""
        try:
            row = Task.objects.select_related("type").get(id=UUID(str(result_id)))
            task = import_string(row.type.key)
        except (Task.DoesNotExist, ValueError, ImportError):
            raise TaskResultDoesNotExist(result_id) from None
        if not isinstance(task, DjangoTask):
            raise TaskResultDoesNotExist(result_id)
        changed = task.using(priority=row.priority, queue_name=row.queue, run_after=row.run_after)
        return self._result(changed, row)

    def _result(self, task: DjangoTask, row: Task) -> TaskResult:
        errors = row.errors if isinstance(row.errors, list) else []
        result: TaskResult = TaskResult(
            task=task,
            id=str(row.id),
            status=_STATUS[Status(row.status)],
            enqueued_at=_time(row.created_at),
            started_at=_time(row.started_at),
            finished_at=_time(row.finished_at),
            last_attempted_at=_time(row.started_at),
            args=row.payload["args"],
            kwargs=row.payload["kwargs"],
            backend=self.alias,
            errors=[
                TaskError(exception_class_path=_path(each["class"]), traceback=each["traceback"])
                for each in errors
            ],
            worker_ids=_workers(row, errors),
        )
        object.__setattr__(result, "_return_value", row.result)
        return result


def _register(task: DjangoTask) -> None:
    function = task.func

    def handler(payload: dict[str, Any], context: Context) -> Any:
        args = list(payload["args"])
        if task.takes_context:
            args.insert(0, TaskContext(task_result=_running(task, payload, context)))
        return normalize_json(task.call(*args, **payload["kwargs"]))

    handler.__module__, handler.__qualname__ = function.__module__, function.__qualname__
    given = getattr(function, "task_limits", {})
    try:
        find(task.module_path)
    except LookupError:
        register(TaskSpec(key=task.module_path, handler=handler, schema=SCHEMA, **given))


def _running(task: DjangoTask, payload: dict[str, Any], context: Context) -> TaskResult:
    """What a handler that takes django-tasks' context sees; `attempt` counts its workers."""
    result: TaskResult = TaskResult(
        task=task,
        id=str(context.task_id),
        status=TaskResultStatus.RUNNING,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=payload["args"],
        kwargs=payload["kwargs"],
        backend=task.backend,
        errors=[],
        worker_ids=[""] * context.attempt,
    )
    return result


def _path(name: str) -> str:
    return name if "." in name else f"builtins.{name}"


def _time(value: Any) -> Any:
    """A column's value; of a row that was not read it is an expression of the database."""
    return value if hasattr(value, "tzinfo") else None


def _workers(row: Task, errors: list[dict[str, Any]]) -> list[str]:
    ended = [each.get("worker", "") for each in errors]
    attempt = row.attempt if isinstance(row.attempt, int) else 0
    return (ended + [row.worker] * attempt)[:attempt] if attempt else []
