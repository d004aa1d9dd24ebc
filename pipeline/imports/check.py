"""Check of an imported file before anyone is admitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now

from applicants.addresses import checked_address
from pipeline.domain.states import Status
from pipeline.imports.admit import (
    lock_import_to_admit,
)
from pipeline.imports.outcomes import holders_of_external_ids
from pipeline.imports.read_file import read_file
from pipeline.imports.refusals import keep_refused_rows
from pipeline.imports.rows import ImportRow, Refusal, rows_in
from pipeline.models import Application, ImportRefusal, ImportRun, StoredFile, StoredPart

# How many parts of the file a transaction checks.
PARTS_AT_ONCE = 10


def check_import_rows(
    import_id: UUID,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    after_batch: Callable[[ImportRun], None] = lambda run: None,
) -> ImportRun:
    """Store which rows an import would refuse now, and why, and return its progress.

    Nobody is admitted and the job is not locked, so the answer holds for this moment only. Always
    starts from the first row, even after an unfinished check. Does nothing if the import has begun.
    Raises ImportRun.DoesNotExist. Must not be called inside a transaction.
    """
    with transaction.atomic(durable=True):
        run = lock_import_to_admit(import_id)
        read_file(run)
        if run.check_only and not run.finished_at:
            ImportRefusal.objects.filter(run=run).delete()
            run.next_row = run.refused = run.already_there = 0
            run.checked_at = None
            run.save(update_fields=["next_row", "refused", "already_there", "checked_at"])
    rows_checked, last_part = 0, -1
    while run.check_only and not (run.finished_at or run.checked_at or is_cancelled()):
        with transaction.atomic(durable=True):
            run = lock_import_to_admit(import_id)
            if not run.check_only or run.next_row != rows_checked:
                return run  # the import was started, or another worker checks the file
            parts = StoredPart.objects.filter(file_id=import_id, number__gt=last_part)
            some = list(parts.order_by("number")[:PARTS_AT_ONCE])
            rows = [row for part in some for row in rows_in(bytes(part.data))]
            if some:
                last_part = some[-1].number
                refused, already_there = _check_rows(run.file, rows)
                keep_refused_rows(run, refused)
                rows_checked = run.next_row = run.next_row + len(rows)
                run.refused += len(refused)
                run.already_there += already_there
                run.save(update_fields=["next_row", "refused", "already_there"])
            else:
                ImportRun.objects.filter(file_id=import_id).update(checked_at=Now())
                run.refresh_from_db(fields=["checked_at"])
        after_batch(run)
    return run


def _check_rows(
    file: StoredFile, rows: Sequence[ImportRow]
) -> tuple[list[tuple[ImportRow, Refusal]], int]:
    """Return the rows that would be refused, by the rules of `pipeline.imports.admit`.

    Also returns the number of those whose application is there already.
    """
    refused, sound, already_there = [], [], 0
    holders = holders_of_external_ids(file.company_id, rows)
    for row in rows:
        found = row.refusal
        if found is None:
            found = Refusal.BAD_EMAIL
            with suppress(ValidationError):
                if checked_address(row.email) == row.email:
                    found = None
        holder = holders.get(row.external_id)
        if holder and found is None:
            if holder.is_of(row, file.job_id):
                already_there += 1
                continue
            found = Refusal.EXTERNAL_ID_TAKEN
        if found is None:
            sound.append(row)
        else:
            refused.append((row, found))
    # An unverified application is no obstacle: the import takes it over.
    jobs_own = Application.objects.filter(job_id=file.job_id, verify_by=None)
    live = jobs_own.exclude(status=Status.INACTIVE)
    theirs = live.filter(applicant__email__in=[row.email for row in sound])
    in_line = set(theirs.values_list("applicant__email", flat=True))
    refused += [(row, Refusal.ALREADY_APPLIED) for row in sound if row.email in in_line]
    return refused, already_there
