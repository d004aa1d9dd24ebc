"""Running due tasks in this process, where a test needs their effect and not the engine."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Now

from tasks import registry
from tasks.context import Context
from tasks.errors import Discard, Fatal, Retry
from tasks.models import Status, Task


def run_due_tasks(*keys: str) -> list[str]:
    """Run what is due, of these types or of all, until nothing is; how each attempt ended.

    As a worker does: higher priorities first, retries later, and `on_fail` after the last attempt.
    """
    ends: list[str] = []
    while due := _next(keys):
        if _claim(due):  # unless another thread was faster
            ends.append(_run(due))
    return ends


def make_retries_due() -> None:
    """End the waits before the next attempts."""
    waiting = Task.objects.filter(status=Status.PENDING, attempt__gt=0)
    waiting.update(run_after=Now())


def let_tasks_wait(seconds: float) -> None:
    """Make all pending tasks older by this many seconds, and so due earlier."""
    Task.objects.filter(status=Status.PENDING).update(
        run_after=F("run_after") - timedelta(seconds=seconds)
    )


def _next(keys: tuple[str, ...]) -> Task | None:
    due = Task.objects.filter(status=Status.PENDING, run_after__lte=Now())
    if keys:
        due = due.filter(type__key__in=keys)
    return due.select_related("type").order_by("-priority", "run_after", "id").first()


def _claim(task: Task) -> bool:
    lease = Now() + timedelta(minutes=1)
    row = Task.objects.filter(id=task.id, status=Status.PENDING, attempt=task.attempt)
    return bool(row.update(status=Status.RUNNING, attempt=task.attempt + 1, lease_until=lease))


def _run(task: Task) -> str:
    spec = registry.find_registered_type(task.type.key, task.type.version)
    attempt = task.attempt + 1
    context = Context(
        task_id=task.id,
        attempt=attempt,
        owner_id=task.owner_id,
        report=lambda _told: None,
        is_cancelled=lambda: False,
    )
    row = Task.objects.filter(id=task.id)
    end, result, wait_seconds = Status.SUCCEEDED, None, 0.0
    try:
        result = spec.run(task.payload, context)
    except Discard:
        end = Status.DISCARDED
    except Exception as error:
        is_last = isinstance(error, Fatal) or attempt >= task.max_attempts
        end = Status.DEAD if is_last else Status.PENDING
        asked = error.after_seconds if isinstance(error, Retry) else None
        wait_seconds = spec.backoff.after(attempt) if asked is None else asked
        message = {"class": type(error).__name__, "message": str(error), "attempt": attempt}
        row.update(errors=[*task.errors, message])
        if is_last and spec.hooks.on_fail:
            spec.hooks.on_fail(task.payload, context)
    run_after = Now() + timedelta(seconds=wait_seconds)
    row.update(status=end, result=result, run_after=run_after, lease_until=None)
    return str(end)
