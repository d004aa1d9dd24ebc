"""Background work in every state, so that no page about it is empty."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from uuid_utils.compat import uuid7

from pipeline.models import ImportRun, StoredFile
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from pipeline.work.start import TaskRequest, start_tasks
from tasks import control, registry
from tasks.models import Schedule, Task, TaskEvent

ERRORS = [
    {
        "class": "psycopg.errors.QueryCanceled",
        "message": "canceling statement due to statement timeout",
        "attempt": attempt,
        "traceback": (
            "Traceback (most recent call last):\n"
            '  File "/srv/app/.venv/lib/python3.11/site-packages/psycopg/cursor.py", line 97, in'
            " execute\n    raise ex.with_traceback(None)\n"
            "psycopg.errors.QueryCanceled: canceling statement due to statement timeout\n"
        ),
    }
    for attempt in (1, 2, 3)
]


@dataclass(frozen=True)
class Work:
    """The ids by which pages are opened."""

    running: UUID
    dead: UUID
    schedule: UUID


def make_work(company_id: UUID, job: UUID, user_id: UUID) -> Work:
    """Tasks that wait, run, are done, have failed; a paused type; two schedules."""
    registry.write_registered_types()
    at = {"job_id": str(job)}
    actor = f"member:{user_id}"
    file = _file(company_id, job, task_rows=1_200)
    orders = [
        TaskRequest("report.weekly", at),
        TaskRequest("applications.export", at | {"format": "csv"}),
        TaskRequest("demo.sleep", {"seconds": 5, "then": "fail"}),
        TaskRequest("log.export", at | {"format": "jsonl"}),
        TaskRequest("demo.sleep", {"seconds": 60}),
        TaskRequest("applications.import", {"import_id": str(file)}),
        TaskRequest("report.weekly", at, delay_seconds=7_200),
        TaskRequest("log.export", at | {"format": "csv"}),
    ]
    made = start_tasks(company_id=company_id, producer=actor, requests=orders)
    report, export, dead, dead_too, stopped, running, *_ = (each.id for each in made)
    _end(report, "SUCCEEDED", result={"week": "2026-11-09", "events": 31})
    _end(export, "SUCCEEDED", result={"file_id": str(file), "rows": 22})
    _end(dead, "DEAD", attempt=3, errors=_told_to_fail())
    _end(dead_too, "DEAD", attempt=3, errors=ERRORS)
    TaskEvent.objects.create(task_id=dead_too, kind="dead", attempt=3, actor="worker-1")
    control.cancel(stopped, actor=actor, owner_id=company_id)
    _run(running)
    control.pause("log.export", actor=actor, owner_id=company_id)
    return Work(running, dead_too, _schedules(company_id, job))


def _schedules(company_id: UUID, job: UUID) -> UUID:
    def plan(name: str, cron: str, **what: Any) -> Schedule:
        given = {"payload": {"job_id": str(job)}, "type_key": "report.weekly"} | what
        return schedules.create(company_id=company_id, plan=Plan(name=name, cron=cron, **given))

    night = plan(
        "The log, every night",
        "15 2-4 * * 1,3",
        type_key="log.export",
        payload={"job_id": str(job), "format": "jsonl"},
        enabled=False,
    )
    Schedule.objects.filter(id=night.id).update(problem="There is no such job.")
    return plan("Report for the Monday meeting", "0 8 * * 1", zone="Europe/Berlin").id


def _file(company_id: UUID, job: UUID, *, task_rows: int) -> UUID:
    file = StoredFile.objects.create(
        company_id=company_id,
        job_id=job,
        purpose=StoredFile.Purpose.IMPORT,
        name="people.csv",
        content_type="text/csv",
        expires_at=timezone.now() + timedelta(days=7),
    )
    ImportRun.objects.create(file=file, total_rows=task_rows, started_by=uuid7())
    return file.id


def _told_to_fail() -> list[dict[str, Any]]:
    return [
        {
            "class": "RuntimeError",
            "message": "told to fail",
            "attempt": attempt,
            "traceback": "Traceback (most recent call last):\nRuntimeError: told to fail\n",
        }
        for attempt in (1, 2, 3)
    ]


def _end(task: UUID, status: str, *, attempt: int = 1, **how: Any) -> None:
    now = timezone.now()
    begun = {"started_at": now - timedelta(seconds=14), "finished_at": now, "attempt": attempt}
    Task.objects.filter(id=task).update(status=status, **begun, **how)
    for number in range(1, attempt + 1):
        TaskEvent.objects.create(task_id=task, kind="started", attempt=number, actor="worker-1")
        ended = {"SUCCEEDED": "succeeded", "DEAD": "failed"}[status]
        data = {"error": how["errors"][0]["class"]} if "errors" in how else None
        TaskEvent.objects.create(
            task_id=task, kind=ended, attempt=number, actor="worker-1", data=data
        )


def _run(task: UUID) -> None:
    now = timezone.now()
    Task.objects.filter(id=task).update(
        status="RUNNING",
        attempt=1,
        worker="worker-1",
        started_at=now - timedelta(seconds=83),
        lease_until=now + timedelta(minutes=10),
        progress={"done": 517, "total": 1_200, "note": "rows read"},
    )
    TaskEvent.objects.create(task_id=task, kind="started", attempt=1, actor="worker-1")
