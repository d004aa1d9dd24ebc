"""Erasure of a person from files that are kept for companies, and from refused import rows."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from itertools import chain
from uuid import UUID

from django.db import connection

from pipeline.files.write import hold_file_writes, remove_written_files
from pipeline.imports.read_file import (
    imports_with_unread_files,
    read_file,
    rows_of_unread_file,
    unread_file_may_hold,
)
from pipeline.imports.rows import ImportRow, Refusal, rows_in
from pipeline.models import ImportRefusal, ImportRun, StoredFile, StoredPart

# How many bytes of unread files a download searches, in about a second. If a file may match, all of
# its rows are read, in two or three seconds.
MOST_UNREAD_BYTES = 32 * 2**20

# The parts that may contain an address, in any case. No line, and so no address, is split between
# two parts. Files are kept for only a few days, so searching them needs no index.
_PARTS = """
SELECT part.id FROM pipeline_storedpart part JOIN pipeline_storedfile file ON file.id = part.file_id
WHERE file.purpose = %(purpose)s AND part.number >= 0
  AND (%(jobs)s::uuid[] IS NULL OR file.job_id = ANY(%(jobs)s))
  AND EXISTS (SELECT FROM unnest(%(spellings)s::text[]) spelling
              WHERE position(spelling IN lower(convert_from(part.data, 'UTF8'))) > 0)
ORDER BY part.id
"""

_REFUSALS = """
SELECT id FROM pipeline_importrefusal WHERE position(%(address)s IN lower(email || ' ' || name)) > 0
"""


def hold_import_files_to_erase() -> None:
    """Wait for running import batches, and block the next ones.

    So nobody is imported from a row that was read before the erasure. Call this first in a
    transaction, because a batch also locks its import first.
    """
    going_on = ImportRun.objects.filter(finished_at=None).order_by("file_id")
    list(going_on.select_for_update().values_list("file_id"))


def erase_in_import_files(address: str) -> None:
    """Blank every imported row with an address, given in its normal form.

    This affects waiting and refused rows. A waiting row will then be refused, because an erased
    person is not imported.
    """
    unread = imports_with_unread_files().order_by("file_id").select_related("file")
    for run in unread.select_for_update(of=("self",)):
        if unread_file_may_hold(run, address):
            read_file(run)  # rows can be blanked individually
    pattern = _erased_file_pattern(address)
    for part in StoredPart.objects.filter(
        id__in=_file_parts_to_erase(address, StoredFile.Purpose.IMPORT)
    ):
        rows = [
            ImportRow(row.number, "", "", Refusal.ERASED)
            if pattern.search(f"{row.email} {row.name}".lower())
            else row
            for row in rows_in(bytes(part.data))
        ]
        data = b"".join(row.as_line() for row in rows)
        StoredPart.objects.filter(id=part.id).update(data=data)
    for refusal in ImportRefusal.objects.filter(
        id__in=_read_file_part_ids(_REFUSALS, {"address": address})
    ):
        if pattern.search(f"{refusal.email} {refusal.name}".lower()):
            same = ImportRefusal.objects.filter(id=refusal.id)
            same.update(name="", email="", external_id="", reason=Refusal.ERASED)
    for file in StoredFile.objects.filter(name__icontains=address):
        StoredFile.objects.filter(id=file.id).update(name="people.csv")


def import_file_rows_to_erase(address: str) -> tuple[list[dict[str, str]], int]:
    """Return the imported rows with an address that companies still keep, for the person.

    This includes MOST_UNREAD_BYTES of files that no worker has read yet. Also returns the number of
    unread files that were not searched. Files wait only seconds, unless no worker runs.
    """
    parts = StoredPart.objects.filter(
        id__in=_file_parts_to_erase(address, StoredFile.Purpose.IMPORT)
    )
    files: list[Iterable[ImportRow]] = [rows_in(bytes(part.data)) for part in parts.order_by("id")]
    left, not_searched = MOST_UNREAD_BYTES, 0
    for run in imports_with_unread_files().select_related("file"):
        left -= run.file.size_bytes
        if left < 0:
            not_searched += 1
        elif unread_file_may_hold(run, address):
            files.append(rows_of_unread_file(run))
    refused = ImportRefusal.objects.filter(
        id__in=_read_file_part_ids(_REFUSALS, {"address": address})
    )
    rows = ((row.name, row.email) for row in chain.from_iterable(files))
    pattern = _erased_file_pattern(address)
    own = [
        {"name": name, "email": email}
        for name, email in chain(rows, refused.order_by("id").values_list("name", "email"))
        if pattern.search(f"{email} {name}".lower())
    ]
    return own, not_searched


def erase_in_export_files(address: str, job_ids: Collection[UUID]) -> None:
    """Remove these jobs' files that contain an address, and all that are being written now.

    A writer notices this and starts again; a removed file can be made again. No new one begins
    before this transaction ends.
    """
    hold_file_writes()
    exports = StoredFile.objects.filter(purpose=StoredFile.Purpose.EXPORT, job_id__in=job_ids)
    remove_written_files(exports.filter(is_complete=False))
    pattern = _erased_file_pattern(address)
    for part_id in _file_parts_to_erase(address, StoredFile.Purpose.EXPORT, job_ids):
        part = StoredPart.objects.filter(id=part_id).first()
        if part is not None and pattern.search(bytes(part.data).decode().lower()):
            remove_written_files(exports.filter(id=part.file_id))


def _erased_file_pattern(address: str) -> re.Pattern[str]:
    """Return a pattern that matches the address itself, but not a longer one that contains it."""
    spellings = "|".join(re.escape(spelling) for spelling in _erased_file_spellings(address))
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    return re.compile(f"{before}(?:{spellings}){after}")


def _erased_file_spellings(address: str) -> list[str]:
    """Return the spellings of an address in a file: plain, in JSON, in CSV."""
    in_json = json.dumps(address, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([address, in_json, address.replace('"', '""')]))


def _file_parts_to_erase(
    address: str, purpose: StoredFile.Purpose, job_ids: Collection[UUID] | None = None
) -> list[int]:
    jobs = None if job_ids is None else list(job_ids)
    return _read_file_part_ids(
        _PARTS,
        {
            "purpose": purpose.value,
            "jobs": jobs,
            "spellings": _erased_file_spellings(address),
        },
    )


def _read_file_part_ids(statement: str, parameters: dict[str, object]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)  # type: ignore[arg-type]  # lists are arrays
        return [row[0] for row in cursor.fetchall()]
