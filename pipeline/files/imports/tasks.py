"""Tasks of an import: check, admission and undo."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from applicants.addresses import checked_address
from pipeline.domain.errors import ImportUndoTooLate, StoredFileNotFound
from pipeline.domain.states import Actor, ActorKind, Move, Reason, Status
from pipeline.files.imports.admitting import admit_rows, count_remaining_rows, lock_run
from pipeline.files.imports.answers import CellRefused, current_form, fill_row
from pipeline.files.imports.reading import read_file
from pipeline.files.imports.results import (
    find_external_id_holders,
    keep_refused_rows,
    read_progress,
)
from pipeline.files.imports.rows import ImportRow, Refusal, decode_part
from pipeline.files.imports.starting import CHECK, IMPORT
from pipeline.form.questions import Question
from pipeline.line.lock import line_transaction, lock_job, read_locked_applications
from pipeline.line.moves import make_move
from pipeline.line.settle import fill_seats, settle_due
from pipeline.line.write import write
from pipeline.models import Application, ImportRefusal, ImportRun, StoredFile, StoredPart
from tasks.context import Context
from tasks.enqueue import Enqueued, enqueue
from tasks.errors import Discard
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff

security = logging.getLogger("security")


# How many parts of the file a transaction checks.
PARTS_AT_ONCE = 10


def check_rows(
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
        run = lock_run(import_id)
        read_file(run)
        if run.check_only and not run.finished_at:
            ImportRefusal.objects.filter(run=run).delete()
            run.next_row = run.refused = run.already_there = 0
            run.checked_at = None
            run.save(update_fields=["next_row", "refused", "already_there", "checked_at"])
    rows_checked, last_part = 0, -1
    while run.check_only and not (run.finished_at or run.checked_at or is_cancelled()):
        with transaction.atomic(durable=True):
            run = lock_run(import_id)
            if not run.check_only or run.next_row != rows_checked:
                return run  # the import was started, or another worker checks the file
            parts = StoredPart.objects.filter(file_id=import_id, number__gt=last_part)
            some = list(parts.order_by("number")[:PARTS_AT_ONCE])
            rows = [row for part in some for row in decode_part(bytes(part.data))]
            if some:
                last_part = some[-1].number
                refused, already_there, details = _check_rows(run.file, rows)
                keep_refused_rows(run, refused, details=details)
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
) -> tuple[list[tuple[ImportRow, Refusal]], int, dict[int, str]]:
    """Return the rows that would be refused, by the rules of `pipeline.files.imports.admitting`.

    Also returns the number of those whose application is there already, and what is wrong with
    answers, by the rows' numbers.
    """
    refused, sound, already_there = [], [], 0
    details: dict[int, str] = {}
    form = current_form(file.job_id)
    holders = find_external_id_holders(file.company_id, rows)
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
            found = _answer_refusal(row, form, details)
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
    return refused, already_there, details


def _answer_refusal(
    row: ImportRow, form: tuple[int, tuple[Question, ...]], details: dict[int, str]
) -> Refusal | None:
    """Return the refusal of a row whose answers do not fit, and note what is wrong."""
    try:
        fill_row(*form, row)
    except CellRefused as error:
        details[row.number] = str(error)
        return Refusal.BAD_ANSWER
    return None


# Undo of an import: the people whom it added and who have not acted since are removed.


UNDO = "applications.undo_import"
# How many people leave in one transaction, which holds the job's lock all that time.
SLICE = 200

# People whom an import added, who are still in the line and have not acted, nor has the company
# decided on them: since they were added, only the system has moved them. Those on the waitlist
# come first, from its end, so that nobody is offered a seat here only to be removed.
_REMOVABLE = """
SELECT own.id
FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) AS batch (first, last)
JOIN pipeline_event added ON added.job_id = %(job)s
    AND added.seq BETWEEN batch.first AND batch.last AND added.event = 'APPLIED'
JOIN pipeline_application own ON own.id = added.application_id
WHERE own.status <> 'INACTIVE' AND NOT EXISTS (
    SELECT FROM pipeline_event later WHERE later.application_id = own.id
      AND later.seq > added.seq AND later.actor_kind <> 'SYSTEM')
ORDER BY own.status <> 'WAITLIST', added.seq DESC
"""
_STILL_REMOVABLE = f"""SELECT id FROM ({_REMOVABLE}) removable WHERE id = ANY(%(ids)s::uuid[])"""  # noqa: S608  constants


def start_undo(
    *, company_id: UUID, import_id: UUID, actor: Actor, producer: str
) -> Enqueued | None:
    """Start to undo an import that has ended. None if it is being undone, or was.

    The import cannot continue afterwards. An undo that was cancelled or failed can be started
    again. Raises StoredFileNotFound, ImportUndoTooLate.
    """
    with transaction.atomic(durable=True):
        try:
            run = lock_run(import_id)
        except ImportRun.DoesNotExist:
            raise StoredFileNotFound from None
        seen = read_progress(company_id, import_id)
        if seen.is_being_undone or run.undo_ended_at:
            return None
        if not seen.can_undo:
            raise ImportUndoTooLate
        payload = {"import_id": str(import_id)}
        task = enqueue(UNDO, payload, owner_id=company_id, producer=producer)
        ImportRun.objects.filter(file_id=import_id).update(
            undo_by=actor.id,
            undo_task_id=task.id,
            undo_total=run.undone + len(_removable_applications(run)),
            finished_at=run.finished_at or seen.now,
        )
    ids = {"company": str(company_id), "import": str(import_id)}
    security.info("import.undo_started", extra=ids)
    return task


def undo(
    import_id: UUID,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    after_batch: Callable[[ImportRun], None] = lambda run: None,
) -> ImportRun:
    """Remove the people whom an import added and who have not acted since, each by an event.

    Safe to run again: those removed are not found again. Raises ImportRun.DoesNotExist, ClockMoving
    and django.db.OperationalError if the line was too busy; it can then be called again. Must not
    be called inside a transaction.
    """
    run = ImportRun.objects.select_related("file").get(file_id=import_id)
    if run.undo_by is None or run.undo_ended_at:
        return run
    left = _removable_applications(run)
    while left and not is_cancelled():
        _remove_applications(import_id, run.file.job_id, left[:SLICE])
        left = left[SLICE:]
        run.refresh_from_db()
        after_batch(run)
    if not left:
        ImportRun.objects.filter(file_id=import_id).update(undo_ended_at=Now())
        run.refresh_from_db()
    return run


@line_transaction
def _remove_applications(import_id: UUID, job_id: UUID, ids: Sequence[UUID]) -> None:
    run = lock_run(import_id)
    job = lock_job(job_id)
    settle_due(job, only_ends=True)
    found = set(_removable_applications(run, among=ids))
    still = [each for each in ids if each in found]
    read_locked_applications(job, still)
    actor = Actor(ActorKind.COMPANY, run.undo_by)
    facts = {"reason": str(Reason.IMPORT_UNDONE), "import": str(import_id)}
    for application_id in still:
        make_move(job, job.application(application_id), Move.REMOVE, actor=actor, facts=facts)
    if still:
        write(job)  # the next in line are read from the database
        fill_seats(job)
        write(job)  # also if nobody was promoted: when the first cool-down ends is due
        undone = F("undone") + len(still)
        ImportRun.objects.filter(file_id=import_id).update(undone=undone)


def _removable_applications(run: ImportRun, *, among: Sequence[UUID] | None = None) -> list[UUID]:
    seqs = run.admitted_seqs or []
    values: dict[str, Any] = {
        "job": run.file.job_id,
        "firsts": seqs[::2],
        "lasts": seqs[1::2],
        "ids": among,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REMOVABLE if among is None else _STILL_REMOVABLE, values)
        return [id_ for (id_,) in cursor.fetchall()]


# Handler of import tasks.


@task_type(
    key=IMPORT,
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=60,
    memory_bytes=512 * MEBIBYTE,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=60, jitter_seconds=1),
)
def admit_rest(context: Context, import_id: UUID) -> dict[str, Any]:
    """Import the rest of a file. Returns the numbers of accepted, refused and remaining rows.

    If told to stop, it ends between two batches, and imported rows stay. The emails to these
    people are separate tasks, written with each batch.
    """

    def report_import_in_task(run: ImportRun) -> None:
        note = f"{run.accepted:,} accepted, {run.refused:,} refused"
        context.progress(run.next_row, run.total_rows, note)

    return describe_result(_run_service(admit_rows, import_id, context, report_import_in_task))


@task_type(
    key=CHECK,
    queue="files",
    cap=2,
    timeout_seconds=3_600,
    memory_bytes=512 * MEBIBYTE,
    max_attempts=5,
)
def run_check(context: Context, import_id: UUID) -> dict[str, Any]:
    """Check a file without admitting anyone. Returns the numbers of good and refused rows."""

    def report_check_in_task(run: ImportRun) -> None:
        context.progress(run.next_row, run.total_rows, f"{run.refused:,} would be refused")

    run = _run_service(check_rows, import_id, context, report_check_in_task)
    return {"checked": run.next_row, "refused": run.refused, "total": run.total_rows}


@task_type(
    key=UNDO,
    queue="files",
    cap=2,
    timeout_seconds=6 * 3_600,
    grace_seconds=60,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=60, jitter_seconds=1),
)
def run_undo(context: Context, import_id: UUID) -> dict[str, Any]:
    """Undo an import. Returns how many people it removed, of those who could be."""

    def report_undo_in_task(run: ImportRun) -> None:
        context.progress(min(run.undone, run.undo_total), max(1, run.undo_total))

    run = _run_service(undo, import_id, context, report_undo_in_task)
    return {"undone": run.undone, "accepted": run.accepted}


def _run_service(
    service: Callable[..., ImportRun],
    import_id: UUID,
    context: Context,
    after_batch: Callable[[ImportRun], None],
) -> ImportRun:
    """Run a service on an import of the task's company, and discard the task if it is gone."""
    file = StoredFile.objects.filter(id=import_id).first()
    if file is None or file.company_id != context.owner_id:
        raise Discard(gettext_noop("the company does not have this file, or no longer has it"))
    try:
        return service(import_id, is_cancelled=lambda: context.cancelled, after_batch=after_batch)
    except ImportRun.DoesNotExist:
        raise Discard(gettext_noop("the file is no longer there")) from None


def describe_result(run: ImportRun) -> dict[str, Any]:
    """Return the result of the task of an import that has ended."""
    return {
        "accepted": run.accepted,
        "already_there": run.already_there,
        "refused": run.refused,
        "total": run.total_rows,
        "left": count_remaining_rows(run),
        "ending": run.ending or "STOPPED",
    } | ({"trouble": run.trouble} if run.trouble else {})
