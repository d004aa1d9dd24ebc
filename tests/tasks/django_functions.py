"""Functions as `django-tasks` has them."""

from __future__ import annotations

from django_tasks import TaskContext, task

from tasks.django_backend import limits


@task()
@limits(max_attempts=3, timeout_seconds=10)
def add_up(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@task(takes_context=True)
def count_attempts(context: TaskContext) -> int:
    """Which attempt this is."""
    return context.attempt
