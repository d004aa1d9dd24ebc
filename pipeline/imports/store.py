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
from pipeline.models import ImportRun, StoredFile
from pipeline.selectors.jobs import job_facts

# Bytes as they came are numbered from here on, so below the parts with rows.
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
) -> UUID:
    """Keep a CSV file as it is; gives the id of the file, which is that of the import.

    Only its size and its first line are looked at: reading the rest may take long.
    `content` is the file's bytes in pieces, `name` what the company calls it, `actor` the member or
    key in whose name people are taken in, `file_id` the id if it is to have a certain one. Nothing
    is kept when it raises: JobNotFound, JobNotOpen, ImportFileRefused, FilesFull.
    """
    job = job_facts(job_id)
    if job.company_id != company_id:
        raise JobNotFound
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)
    if actor.id is None:
        raise ValueError("somebody must answer for an import")
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
    file.size_bytes = _store_import_parts(file.id, content)
    refuse_beyond_quota(company_id, more_bytes=file.size_bytes)
    file.is_complete = True
    file.save()
    ImportRun.objects.create(file=file, total_rows=0, is_read=False, started_by=actor.id)
    return file.id


def _store_import_parts(file_id: UUID, content: Iterable[bytes]) -> int:
    """Store the bytes in parts; return how many there are. Raises ImportFileRefused."""
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
