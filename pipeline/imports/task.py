"""Handler of import tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pipeline.imports.admit import admit_rows, count_rows_to_admit
from pipeline.imports.check import check_import_rows
from pipeline.imports.start import CHECK, IMPORT
from pipeline.imports.undo import UNDO, undo_import
from pipeline.models import ImportRun, StoredFile
from tasks.context import Context
from tasks.errors import Discard
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff

_SCHEMA = {
    "type": "object",
    "properties": {"import_id": {"type": "string", "format": "uuid"}},
    "required": ["import_id"],
    "additionalProperties": False,
}


@task_type(
    key=IMPORT,
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=60,
    memory_bytes=512 * MEBIBYTE,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=60, jitter_seconds=1),
    schema=_SCHEMA,
)
def import_applications_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Import the rest of a file. Returns the numbers of accepted, refused and remaining rows.

    If told to stop, it ends between two batches, and imported rows stay. The emails to these
    people are separate tasks, written with each batch.
    """

    def report_import_in_task(run: ImportRun) -> None:
        note = f"{run.accepted:,} accepted, {run.refused:,} refused"
        context.progress(run.next_row, run.total_rows, note)

    return result_of_import_task(
        _run_on_import(admit_rows, payload, context, report_import_in_task)
    )


@task_type(
    key=CHECK,
    queue="files",
    cap=2,
    timeout_seconds=3_600,
    memory_bytes=512 * MEBIBYTE,
    max_attempts=5,
    schema=_SCHEMA,
)
def check_import_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Check a file without admitting anyone. Returns the numbers of good and refused rows."""

    def report_check_in_task(run: ImportRun) -> None:
        context.progress(run.next_row, run.total_rows, f"{run.refused:,} would be refused")

    run = _run_on_import(check_import_rows, payload, context, report_check_in_task)
    return {"checked": run.next_row, "refused": run.refused, "total": run.total_rows}


@task_type(
    key=UNDO,
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=60,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=60, jitter_seconds=1),
    schema=_SCHEMA,
)
def undo_import_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Undo an import. Returns how many people it removed, of those who could be."""

    def report_undo_in_task(run: ImportRun) -> None:
        context.progress(min(run.undone, run.undo_total), max(1, run.undo_total))

    run = _run_on_import(undo_import, payload, context, report_undo_in_task)
    return {"undone": run.undone, "accepted": run.accepted}


def _run_on_import(
    service: Callable[..., ImportRun],
    payload: dict[str, Any],
    context: Context,
    after_batch: Callable[[ImportRun], None],
) -> ImportRun:
    """Run a service on an import of the task's company, and discard the task if it is gone."""
    import_id = UUID(payload["import_id"])
    file = StoredFile.objects.filter(id=import_id).first()
    if file is None or file.company_id != context.owner_id:
        raise Discard("the company does not have this file, or no longer has it")
    try:
        return service(import_id, is_cancelled=lambda: context.cancelled, after_batch=after_batch)
    except ImportRun.DoesNotExist:
        raise Discard("the file is no longer there") from None


def result_of_import_task(run: ImportRun) -> dict[str, Any]:
    """Return the result of the task of an import that has ended."""
    return {
        "accepted": run.accepted,
        "already_there": run.already_there,
        "refused": run.refused,
        "total": run.total_rows,
        "left": count_rows_to_admit(run),
        "ending": run.ending or "STOPPED",
    } | ({"trouble": run.trouble} if run.trouble else {})
