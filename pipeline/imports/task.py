"""Handler of import tasks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipeline.imports.admit import admit_rows, rows_left_to_admit
from pipeline.models import ImportRun, StoredFile
from tasks.context import Context
from tasks.errors import Discard
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff


@task_type(
    key="applications.import",
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=60,
    memory_bytes=512 * MEBIBYTE,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=60, jitter_seconds=1),
    schema={
        "type": "object",
        "properties": {"import_id": {"type": "string", "format": "uuid"}},
        "required": ["import_id"],
        "additionalProperties": False,
    },
)
def import_applications_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Import the rest of a file. Returns the numbers of accepted, refused and remaining rows.

    If told to stop, it ends between two batches, and imported rows stay. The emails to these people
    are tasks of their own, written with each batch.
    """

    def report_import_batch(run: ImportRun) -> None:
        note = f"{run.accepted:,} accepted, {run.refused:,} refused"
        context.progress(run.next_row, run.total_rows, note)

    import_id = UUID(payload["import_id"])
    file = StoredFile.objects.filter(id=import_id).first()
    if file is None or file.company_id != context.owner_id:
        raise Discard("the company does not have this file, or no longer has it")
    try:
        run = admit_rows(
            import_id,
            is_cancelled=lambda: context.cancelled,
            after_batch=report_import_batch,
        )
    except ImportRun.DoesNotExist:
        raise Discard("the file is no longer there") from None
    return {
        "accepted": run.accepted,
        "refused": run.refused,
        "total": run.total_rows,
        "left": rows_left_to_admit(run),
        "ending": run.ending or "STOPPED",
    } | ({"trouble": run.trouble} if run.trouble else {})
