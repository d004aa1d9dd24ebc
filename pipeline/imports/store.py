"""Storage of an imported file until a worker admits its people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.errors import JobNotFound, JobNotOpen
from pipeline.domain.states import Actor
from pipeline.files.quota import refuse_beyond_quota
from pipeline.files.write import FILE_KEPT_DAYS, keep_parts
from pipeline.imports.read_csv import read_rows
from pipeline.imports.rows import Row
from pipeline.models import ImportRun, StoredFile
from pipeline.selectors.jobs import job_facts

# The fewest rows that are taken in at a time; with the longest names still a small part.
ROWS_IN_PART = 100
PARTS_AT_ONCE = 20


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
    """Read a CSV file and keep its rows; gives the id of the file, which is that of the import.

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
        content_type="application/jsonl",
        expires_at=Now() + timedelta(days=FILE_KEPT_DAYS),
    )
    file.rows = _store(file, read_rows(content))
    refuse_beyond_quota(company_id, more_bytes=file.size_bytes)
    file.is_complete = True
    file.save()
    ImportRun.objects.create(file=file, total_rows=file.rows, started_by=actor.id)
    return file.id


def _store(file: StoredFile, rows: Iterator[Row]) -> int:
    """Store the rows in parts; says how many there are, and notes their size."""
    parts: list[tuple[int, bytes]] = []
    count = number = size = 0
    while some := list(islice(rows, ROWS_IN_PART)):
        data = b"".join(row.as_line() for row in some)
        parts.append((number, data))
        count, number, size = count + len(some), number + 1, size + len(data)
        if len(parts) == PARTS_AT_ONCE:
            keep_parts(file.id, parts)
            parts.clear()
    keep_parts(file.id, parts)
    file.size_bytes = size
    return count
