"""Start of an import of people into a job's line, in the background."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from pipeline.background.key_limits import limits_of_key
from pipeline.background.start import TaskRequest, check_type_to_start, start_tasks
from pipeline.domain.errors import StoredFileNotFound
from pipeline.domain.states import Actor
from pipeline.files.write import FILE_KEPT_DAYS
from pipeline.imports.admit import admit_after_check, lock_import_to_admit
from pipeline.imports.rows import ImportRow
from pipeline.imports.store import store_import
from pipeline.models import ImportRun, StoredFile
from tasks.enqueue import Enqueued, enqueue

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

    With `check_only`, a task only checks the file; `start_checked_import` starts the import.

    `content` is the file in pieces, `name` its name, `actor` the member or key for the log. With a
    `file_id`, repeating the call is harmless. Raises the errors of `store_import` and
    `start_tasks`.
    """
    if first := _earlier_start_of_import(company_id, file_id):
        return first
    check_type_to_start(IMPORT, limits_of_key(key_id))  # before reading everything
    try:
        with transaction.atomic():
            import_id = store_import(
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
        if first := _earlier_start_of_import(company_id, file_id):
            return first
        raise
    return task


def _earlier_start_of_import(company_id: UUID, file_id: UUID | None) -> Enqueued | None:
    """Return the task that an earlier attempt started. File and task are committed together."""
    imports = StoredFile.objects.filter(purpose=StoredFile.Purpose.IMPORT, task_id__isnull=False)
    found = imports.filter(company_id=company_id, id=file_id).first() if file_id else None
    return Enqueued(found.task_id, is_new=False) if found and found.task_id else None


@transaction.atomic
def start_checked_import(
    *, company_id: UUID, import_id: UUID, actor: Actor, producer: str
) -> Enqueued | None:
    """Start the import of a file that has only been checked. None if it has been started.

    `actor` is the member whom the log will name. Raises StoredFileNotFound, and the errors of
    `start_tasks`.
    """
    try:
        run = lock_import_to_admit(import_id)
    except ImportRun.DoesNotExist:
        raise StoredFileNotFound from None
    if run.file.company_id != company_id or actor.id is None:
        raise StoredFileNotFound
    if not run.check_only or run.finished_at:
        return None
    admit_after_check(run)
    ImportRun.objects.filter(file_id=import_id).update(started_by=actor.id)
    order = TaskRequest(IMPORT, {"import_id": str(import_id)})
    (task,) = start_tasks(company_id=company_id, producer=producer, requests=[order])
    StoredFile.objects.filter(id=import_id).update(
        task_id=task.id, expires_at=Now() + timedelta(days=FILE_KEPT_DAYS)
    )
    return task
