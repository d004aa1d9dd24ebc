from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.support.environment import process_environment
from tests.support.task_workers import MARKS, TaskWorker
from tests.tasks import handlers  # noqa: F401 -- registers its types, whichever tests run

TABLES = (
    "tasks_task, tasks_taskevent, tasks_tasktally, tasks_tasktotal, tasks_taskworker,"
    " tasks_taskownertally, tasks_taskownerbreaker"
)


@pytest.fixture(scope="module")
def worker(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TaskWorker]:
    """One worker with one child for all tests of a module, and the table for marks.

    Such a module has no mark for the database: it would be emptied under the worker. Each of its
    tests looks at its own tasks only.
    """
    with django_db_blocker.unblock():
        environment = process_environment(
            DJANGO_SETTINGS_MODULE="tests.tasks.settings", PAYMENT_PASSWORD="x"
        )
        with connection.cursor() as cursor:
            cursor.execute(MARKS)
        started = TaskWorker(environment, tmp_path_factory.mktemp("worker") / "log", "--slots", "1")
        yield started
        started.process.kill()
        started.process.wait()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE task_marks; TRUNCATE {TABLES}")
        connection.close()
