"""Start of an import: its file or rows are stored until a worker reads them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from applicants.texts import cleaned_name
from jobs.models import JobStatus
from pipeline.domain.errors import JobNotFound, JobNotOpen, StoredFileNotFound
from pipeline.domain.states import Actor
from pipeline.files.imports.admitting import forget_check, lock_run
from pipeline.files.imports.reading import check_csv_size, check_csv_start, store_rows
from pipeline.files.imports.rows import ImportRow
from pipeline.files.stored import FILE_KEPT_DAYS, refuse_beyond_quota, write_parts
from pipeline.models import ImportRun, StoredFile
from pipeline.selectors.jobs import read_job_facts
from pipeline.work.start import TaskRequest, check_type, read_limits, start_tasks
from tasks.enqueue import Enqueued, enqueue

# Unread bytes are numbered from here on, below the parts with rows.
FIRST_RAW = -1_000_000
RAW_BYTES = 262_144


@transaction.atomic
def store_upload(
    *,
    company_id: UUID,
    job_id: UUID,
    name: str,
    content: Iterable[bytes],
    actor: Actor,
    file_id: UUID | None = None,
    check_only: bool = False,
    rows: Iterable[ImportRow] = (),
) -> UUID:
    """Store a CSV file unread, or `rows` instead, and return its id, which is also the import's.

    Only its size and first line are checked, since reading the rest may take long. `content` is the
    file's bytes in pieces, `name` the company's name for it, `actor` the member or key that the log
    names, `file_id` an id for it if given. Raises JobNotFound, JobNotOpen, ImportFileRefused,
    FilesFull; then nothing is stored.
    """
    _refuse_unless_open(job_id, company_id)
    if actor.id is None:
        raise ValueError("an import needs a member or a key as its actor")
    file = StoredFile.objects.create(
        id=file_id or uuid7(),
        company_id=company_id,
        job_id=job_id,
        purpose=StoredFile.Purpose.IMPORT,
        name=cleaned_name(name)[-200:] or "people.csv",
        content_type="text/csv",
        expires_at=Now() + timedelta(days=FILE_KEPT_DAYS),
    )
    file.rows, file.size_bytes = store_rows(file.id, rows)
    is_read = file.rows > 0
    if is_read:
        file.content_type = "application/jsonl"
    else:
        file.size_bytes = _store_parts(file.id, content)
    refuse_beyond_quota(company_id, more_bytes=file.size_bytes)
    file.is_complete = True
    file.save()
    ImportRun.objects.create(
        file=file,
        total_rows=file.rows,
        is_read=is_read,
        started_by=actor.id,
        check_only=check_only,
    )
    return file.id


def _refuse_unless_open(job_id: UUID, company_id: UUID) -> None:
    job = read_job_facts(job_id)
    if job.company_id != company_id:
        raise JobNotFound
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)


def _store_parts(file_id: UUID, content: Iterable[bytes]) -> int:
    """Store the bytes in parts, and return their number. Raises ImportFileRefused."""
    size, number, kept = 0, FIRST_RAW, b""
    for piece in content:
        size += len(piece)
        check_csv_size(size)
        kept += piece
        if len(kept) >= RAW_BYTES:
            number = _store_part(file_id, number, kept)
            kept = b""
    _store_part(file_id, number, kept)
    return size


def _store_part(file_id: UUID, number: int, data: bytes) -> int:
    if number == FIRST_RAW:
        check_csv_start(data)
    write_parts(file_id, [(number, data)])
    return number + 1


# Start of an import of people into a job's line, in the background.


IMPORT = "applications.import"
CHECK = "applications.check_import"


def start_import(
    *,
    company_id: UUID,
    job_id: UUID,
    name: str,
    content: Iterable[bytes],
    actor: Actor,
    producer: str,
    key_id: UUID | None = None,
    file_id: UUID | None = None,
    check_only: bool = False,
    rows: Iterable[ImportRow] = (),
) -> Enqueued:
    """Store a CSV file of people, or `rows`, and start the import. If it raises, nothing is stored.

    With `check_only`, a task only checks the file; `start_checked` starts the import.

    `content` is the file in pieces, `name` its name, `actor` the member or key for the log. With a
    `file_id`, repeating the call is harmless. Raises the errors of `store_upload` and
    `start_tasks`.
    """
    if first := _earlier_start(company_id, file_id):
        return first
    check_type(IMPORT, read_limits(key_id))  # before reading everything
    try:
        with transaction.atomic():
            import_id = store_upload(
                company_id=company_id,
                job_id=job_id,
                name=name,
                content=content,
                actor=actor,
                file_id=file_id,
                check_only=check_only,
                rows=rows,
            )
            payload = {"import_id": str(import_id)}
            if check_only:
                task = enqueue(CHECK, payload, owner_id=company_id, producer=producer)
            else:
                order = TaskRequest(IMPORT, payload)
                (task,) = start_tasks(
                    company_id=company_id, producer=producer, requests=[order], key_id=key_id
                )
            StoredFile.objects.filter(id=import_id).update(task_id=task.id)
    except IntegrityError:  # another attempt was still running
        if first := _earlier_start(company_id, file_id):
            return first
        raise
    return task


def _earlier_start(company_id: UUID, file_id: UUID | None) -> Enqueued | None:
    """Return the task that an earlier attempt started. File and task are committed together."""
    imports = StoredFile.objects.filter(purpose=StoredFile.Purpose.IMPORT, task_id__isnull=False)
    found = imports.filter(company_id=company_id, id=file_id).first() if file_id else None
    return Enqueued(found.task_id, is_new=False) if found and found.task_id else None


@transaction.atomic
def start_checked(
    *, company_id: UUID, import_id: UUID, actor: Actor, producer: str
) -> Enqueued | None:
    """Start the import of a file that has only been checked. None if it has been started.

    `actor` is the member whom the log will name. Raises StoredFileNotFound, and the errors of
    `start_tasks`.
    """
    try:
        run = lock_run(import_id)
    except ImportRun.DoesNotExist:
        raise StoredFileNotFound from None
    if run.file.company_id != company_id or actor.id is None:
        raise StoredFileNotFound
    if not run.check_only or run.finished_at:
        return None
    forget_check(run)
    ImportRun.objects.filter(file_id=import_id).update(started_by=actor.id)
    order = TaskRequest(IMPORT, {"import_id": str(import_id)})
    (task,) = start_tasks(company_id=company_id, producer=producer, requests=[order])
    StoredFile.objects.filter(id=import_id).update(
        task_id=task.id, expires_at=Now() + timedelta(days=FILE_KEPT_DAYS)
    )
    return task
