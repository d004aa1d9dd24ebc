"""Helpers of the fault tests: releasing runs, inspecting children and connections."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from tests.support.task_workers import TaskWorker
from tests.tasks.handlers import mark
from tests.tasks.seen import task

SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.faults.tasks.settings"}
SHORT = ("--slots", "2", "--lease", "2", "--poll", "0.5")


def let_go(*names: str, attempt: int) -> None:
    """Let these runs of `fault.until` end."""
    for name in names:
        mark(f"{name}:{attempt}:go")


def pid_of(name: str, *, attempt: int) -> int:
    """The child in which this run of `fault.until` is or was."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM task_marks WHERE name LIKE %s", [f"{name}:{attempt}:pid%"])
        return int(cursor.fetchone()[0].rpartition(":")[2])


def holder_of(name: UUID, workers: list[TaskWorker]) -> TaskWorker:
    """The worker that has this task."""
    holder = int(task(name).worker.split(":")[1])
    [found] = [worker for worker in workers if worker.process.pid == holder]
    return found


def terminate_connections() -> int:
    """Cut off everyone else's connection to this database; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])
