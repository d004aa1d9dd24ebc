"""Storage of an imported file until a worker reads it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.errors import JobNotFound, JobNotOpen
from pipeline.domain.states import Actor
from pipeline.files.quota import refuse_beyond_quota
from pipeline.files.write import FILE_KEPT_DAYS, write_file_parts
from pipeline.imports.read_csv import check_csv_size, check_csv_start
from pipeline.imports.read_file import store_import_rows
from pipeline.imports.rows import ImportRow
from pipeline.models import ImportRun, StoredFile
from pipeline.selectors.jobs import read_job_facts

# Unread bytes are numbered from here on, below the parts with rows.
FIRST_RAW = -1_000_000
RAW_BYTES = 262_144


@transaction.atomic
def store_import(
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
    job = read_job_facts(job_id)
    if job.company_id != company_id:
        raise JobNotFound
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)
    if actor.id is None:
        raise ValueError("an import needs a member or a key as its actor")
    plain = "".join(letter for letter in name if letter.isprintable())
    file = StoredFile.objects.create(
        id=file_id or uuid7(),
        company_id=company_id,
        job_id=job_id,
        purpose=StoredFile.Purpose.IMPORT,
        name=plain[-200:] or "people.csv",
        content_type="text/csv",
        expires_at=Now() + timedelta(days=FILE_KEPT_DAYS),
    )
    file.rows, file.size_bytes = store_import_rows(file.id, rows)
    is_read = file.rows > 0
    if is_read:
        file.content_type = "application/jsonl"
    else:
        file.size_bytes = _store_import_parts(file.id, content)
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


def _store_import_parts(file_id: UUID, content: Iterable[bytes]) -> int:
    """Store the bytes in parts, and return their number. Raises ImportFileRefused."""
    size, number, kept = 0, FIRST_RAW, b""
    for piece in content:
        size += len(piece)
        check_csv_size(size)
        kept += piece
        if len(kept) >= RAW_BYTES:
            number = _store_import_part(file_id, number, kept)
            kept = b""
    _store_import_part(file_id, number, kept)
    return size


def _store_import_part(file_id: UUID, number: int, data: bytes) -> int:
    if number == FIRST_RAW:
        check_csv_start(data)
    write_file_parts(file_id, [(number, data)])
    return number + 1
