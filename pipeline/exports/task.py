"""Export tasks: a job's applications or its log as a file to download."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from pipeline.domain.errors import FilesFull, JobNotFound, LogArchived, StoredFileNotFound
from pipeline.exports.write import write_export
from tasks.context import Context
from tasks.errors import Fatal, Retry
from tasks.registry import task_type

SCHEMA = {
    "type": "object",
    "properties": {
        "job_id": {"type": "string", "format": "uuid"},
        "format": {"enum": ["csv", "jsonl"]},
    },
    "required": ["job_id", "format"],
    "additionalProperties": False,
}
# A million rows take minutes. A limit of two exports at a time leaves the database to the line.
LIMITS: dict[str, Any] = {
    "queue": "files",
    "timeout_seconds": 3_600,
    "max_attempts": 5,
    "cap": 2,
    "schema": SCHEMA,
}


@task_type(key="applications.export", **LIMITS)
def export_applications_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any] | None:
    """Write every application to a job to a file: {"file_id", "rows"}."""
    return _export_in_task("applications", payload, context)


@task_type(key="log.export", **LIMITS)
def export_log_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any] | None:
    """Write a job's log with its hashes to a file: {"file_id", "rows"}."""
    return _export_in_task("log", payload, context)


def _export_in_task(what: str, payload: dict[str, Any], context: Context) -> dict[str, Any] | None:
    if context.owner_id is None:
        raise Fatal("an export must be for a company")
    try:
        file = write_export(
            job_id=UUID(payload["job_id"]),
            company_id=context.owner_id,
            what=what,
            format=payload["format"],
            task_id=context.task_id,
            tell=partial(context.progress, note="rows written"),
            is_cancelled=lambda: context.cancelled,
        )
    except (JobNotFound, FilesFull, LogArchived) as error:
        raise Fatal(str(error)) from None
    except StoredFileNotFound:
        raise Retry(
            "someone was erased meanwhile; the file is written again", after_seconds=1
        ) from None
    return {"file_id": str(file.id), "rows": file.rows} if file else None
