"""The handler of imports."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from pipeline.imports.admit import admit_rows, rows_left_to_admit
from pipeline.models import ImportRun, StoredFile
from pipeline.notifications.delivery import wait_until_sent
from tasks.context import Context
from tasks.errors import Discard
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff

BETWEEN_BATCHES_SECONDS = 60.0
# How long a batch's mails, and the last ones, are waited for; they are sent by this process.
AT_THE_END_SECONDS = 600.0
_LOOK_SECONDS = 0.5
_GRACE_SECONDS = 60.0


@task_type(
    key="applications.import",
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=_GRACE_SECONDS,
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
def import_applications(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Take in what is left of a file; how much was taken in and refused, and how much is left.

    Told to stop, it ends between two batches; what was taken in stays. Each batch's mails are
    handed over before the next batch, so that they neither pile up nor go with the process.
    """

    def report_import_batch(run: ImportRun) -> None:
        note = f"{run.accepted:,} accepted, {run.refused:,} refused"
        context.progress(run.next_row, run.total_rows, note)
        _send_import_mails(context, BETWEEN_BATCHES_SECONDS)

    import_id = UUID(payload["import_id"])
    file = StoredFile.objects.filter(id=import_id).first()
    if file is None or file.company_id != context.owner_id:
        raise Discard("the company has no such file, or no longer")
    try:
        run = admit_rows(
            import_id,
            is_cancelled=lambda: context.cancelled,
            after_batch=report_import_batch,
        )
    except ImportRun.DoesNotExist:
        raise Discard("the file is no longer there") from None
    _send_import_mails(context, AT_THE_END_SECONDS)
    return {
        "accepted": run.accepted,
        "refused": run.refused,
        "total": run.total_rows,
        "left": rows_left_to_admit(run),
        "ending": run.ending or "STOPPED",
    } | ({"trouble": run.trouble} if run.trouble else {})


def _send_import_mails(context: Context, most_seconds: float) -> None:
    """Wait for the mails that this process is sending; shorter when it has to come to its end."""
    end = time.monotonic() + most_seconds
    while left := wait_until_sent(_LOOK_SECONDS):
        if context.cancelled:
            end = min(end, time.monotonic() + _GRACE_SECONDS / 2)
        if time.monotonic() >= end:
            context.logger.warning("mails about %d batches have not gone out yet", left)
            return
