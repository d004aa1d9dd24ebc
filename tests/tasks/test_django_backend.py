"""`django-tasks` with our backend: the standard interface, and results that can be read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django_tasks import TaskResultStatus, default_task_backend
from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist

from tests.tasks.django_functions import add_up, count_attempts
from tests.tasks.seen import task

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _engine(settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "tasks.django_backend.DurableBackend", "QUEUES": []}}


def test_a_task_is_enqueued_as_it_says() -> None:
    later = datetime(2030, 1, 1, tzinfo=UTC)

    result = add_up.using(priority=7, queue_name="sums", run_after=later).enqueue(1, b=2)

    made = task(result.id)
    assert (made.priority, made.queue, made.run_after) == (7, "sums", later)
    assert made.payload == {"args": [1], "kwargs": {"b": 2}}
    assert result.status == TaskResultStatus.READY
    assert made.max_attempts == 3


def test_a_result_can_be_read() -> None:
    made = add_up.enqueue(1, b=2)
    row = task(made.id)
    row.status, row.result, row.attempt, row.worker = "SUCCEEDED", 3, 1, "w1"
    row.save()

    read = add_up.get_result(made.id)

    assert (read.return_value, read.args, read.kwargs) == (3, [1], {"b": 2})
    assert (read.is_finished, read.worker_ids) == (True, ["w1"])
    made.refresh()
    assert made.status == TaskResultStatus.SUCCESSFUL


def test_a_failure_shows_its_errors() -> None:
    made = add_up.enqueue(1, b=2)
    row = task(made.id)
    row.status = "DEAD"
    row.errors = [{"class": "ValueError", "message": "no", "attempt": 1, "traceback": "T"}]
    row.save()

    read = add_up.get_result(made.id)

    assert read.status == TaskResultStatus.FAILED
    assert read.errors[0].exception_class is ValueError


@pytest.mark.parametrize("name", ["no-uuid", "00000000-0000-0000-0000-000000000000"])
def test_what_is_not_there_is_said_to_be_so(name: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(name)


def test_what_the_backend_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidTaskError):
        add_up.using(priority=101)


def test_a_handler_with_context_is_told_its_attempt() -> None:
    from tasks.context import Context
    from tasks.registry import find

    made = count_attempts.enqueue()
    kind = find(task(made.id).type.key)
    context = Context(
        task_id=task(made.id).id, attempt=4, say=lambda _: None, is_cancelled=lambda: False
    )

    assert kind.handler({"args": [], "kwargs": {}}, context) == 4
