"""Reading of a stored file by a worker: rows replace the file's bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now

from applicants.addresses import lower_case_address
from pipeline.domain.errors import ImportFileRefused
from pipeline.files.write import write_file_parts
from pipeline.imports.read_csv import csv_encoding, open_csv, read_csv_rows
from pipeline.imports.rows import ImportRow
from pipeline.models import ImportRun, StoredPart

# The fewest rows in a part, which stays small even with the longest names.
ROWS_IN_PART = 100
PARTS_AT_ONCE = 20
# Quotes of a cell, or of the part before the @; the same mailbox may be written without.
_QUOTING = str.maketrans("", "", '"\\')


def read_file(run: ImportRun) -> None:
    """Turn the bytes of an import's file into rows, once. End the import if that is impossible.

    The current transaction must have locked the import.
    """
    if run.is_read:
        return
    file, raw = run.file, StoredPart.objects.filter(file_id=run.file_id, number__lt=0)
    try:
        columns, rows = open_csv(_bytes_of_unread_file(file.id))
        file.rows, file.size_bytes = store_import_rows(file.id, rows)
    except ImportFileRefused as error:
        StoredPart.objects.filter(file_id=file.id).delete()
        ImportRun.objects.filter(file_id=file.id).update(
            is_read=True,
            trouble=str(error)[:300],
            ending=ImportRun.Ending.BAD_FILE,
            finished_at=Now(),
        )
    else:
        raw.delete()
        file.content_type = "application/jsonl"
        file.save(update_fields=["rows", "size_bytes", "content_type"])
        ImportRun.objects.filter(file_id=file.id).update(
            is_read=True, total_rows=file.rows, columns=columns.described()
        )
    run.refresh_from_db()


def imports_with_unread_files() -> QuerySet[ImportRun]:
    """Return the imports that no worker has read yet, small files first."""
    return ImportRun.objects.filter(is_read=False).order_by("file__size_bytes", "file_id")


def unread_file_may_hold(run: ImportRun, address: str) -> bool:
    """Tell whether an unread file may contain an address, given in its normal form, in any form.

    Searches only for the part before the @: a domain has more forms than can be listed.
    """
    content = b"".join(_bytes_of_unread_file(run.file_id))
    text = content.decode(csv_encoding(content[:4]), errors="replace")
    whole = lower_case_address(text).translate(_QUOTING)
    return f"{address.rpartition('@')[0].translate(_QUOTING)}@" in whole


def rows_of_unread_file(run: ImportRun) -> Iterator[ImportRow]:
    """Yield the rows of a file as they will be imported, up to the first unreadable place."""
    with suppress(ImportFileRefused):
        yield from read_csv_rows(_bytes_of_unread_file(run.file_id))


def _bytes_of_unread_file(file_id: UUID) -> Iterator[bytes]:
    """Yield a stored file's bytes, one part in memory at a time."""
    parts = StoredPart.objects.filter(file_id=file_id, number__lt=0).order_by("number")
    last: int | None = None
    while part := (parts if last is None else parts.filter(number__gt=last)).first():
        yield bytes(part.data)
        last = part.number


def store_import_rows(file_id: UUID, rows: Iterable[ImportRow]) -> tuple[int, int]:
    """Store the rows in parts, and return the numbers of rows and bytes."""
    parts: list[tuple[int, bytes]] = []
    count = number = size = 0
    rows = iter(rows)
    while some := list(islice(rows, ROWS_IN_PART)):
        data = b"".join(row.as_line() for row in some)
        parts.append((number, data))
        count, number, size = count + len(some), number + 1, size + len(data)
        if len(parts) == PARTS_AT_ONCE:
            write_file_parts(file_id, parts)
            parts.clear()
    write_file_parts(file_id, parts)
    return count, size
