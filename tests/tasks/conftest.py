from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from tests.conftest import ROOT, url_of
from tests.tasks.handlers import MARKS
from tests.tasks.workers import TaskWorker, start_worker

__all__ = ["start_worker"]

TABLES = "tasks_task, tasks_taskevent, tasks_tasktally, tasks_tasktotal, tasks_taskworker"


@pytest.fixture
def marks(transactional_db: None) -> Iterator[None]:
    """A table in which handlers leave marks."""
    with connection.cursor() as cursor:
        cursor.execute(MARKS)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE task_marks")


@pytest.fixture(scope="module")
def worker(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TaskWorker]:
    """One worker with one child for all tests of a module, and the table for marks.

    Such a module has no mark for the database: it would be emptied under the worker. Each of its
    tests looks at its own tasks only.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with django_db_blocker.unblock():
        own = {
            "DATABASE_URL": url_of(connection.settings_dict),
            "SECRET_KEY": settings.SECRET_KEY,
            "DJANGO_SETTINGS_MODULE": "tests.tasks.settings",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PAYMENT_PASSWORD": "x",
        }
        with connection.cursor() as cursor:
            cursor.execute(MARKS)
        started = TaskWorker(kept | own, tmp_path_factory.mktemp("worker") / "log", "--slots", "1")
        yield started
        started.process.kill()
        started.process.wait()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE task_marks; TRUNCATE {TABLES}")
        connection.close()
