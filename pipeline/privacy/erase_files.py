"""Removing a person from the files that are kept for companies, and from what imports refused."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from itertools import chain
from uuid import UUID

from django.db import connection

from pipeline.files.write import hold_file_writes, remove_files
from pipeline.imports.read_file import (
    read_file,
    rows_of_unread_file,
    unread_file_may_hold,
    unread_files,
)
from pipeline.imports.rows import ImportRow, Refusal, rows_in
from pipeline.models import ImportRefusal, ImportRun, StoredFile, StoredPart

# How much of files that no worker has read yet a download searches, in about a second; where a row
# is found, all rows of its file are read, in two seconds or three.
MOST_UNREAD_BYTES = 32 * 2**20

# The parts in which an address may stand, in any case of its letters: no line, and so no address,
# lies in two parts. Files are kept for days only, so that looking through them takes no index.
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


def hold_imports_to_erase() -> None:
    """Wait for the batches of imports that are being taken in, and keep the next ones waiting.

    So nobody is taken in from a row that was read before and is erased now. First of all in a
    transaction: a batch locks its import before anything else, too.
    """
    going_on = ImportRun.objects.filter(finished_at=None).order_by("file_id")
    list(going_on.select_for_update().values_list("file_id"))


def erase_in_imports(address: str) -> None:
    """Blank every imported row with an address, in its normal spelling.

    Waiting and refused rows alike. A waiting one will be refused: an erased person is not
    imported.
    """
    unread = unread_files().order_by("file_id").select_related("file")
    for run in unread.select_for_update(of=("self",)):
        if unread_file_may_hold(run, address):
            read_file(run)  # rows can be blanked one by one
    pattern = _pattern_in_files(address)
    for part in StoredPart.objects.filter(
        id__in=_file_parts_with(address, StoredFile.Purpose.IMPORT)
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
        id__in=_ids_of_file_parts(_REFUSALS, {"address": address})
    ):
        if pattern.search(f"{refusal.email} {refusal.name}".lower()):
            same = ImportRefusal.objects.filter(id=refusal.id)
            same.update(name="", email="", reason=Refusal.ERASED)
    for file in StoredFile.objects.filter(name__icontains=address):
        StoredFile.objects.filter(id=file.id).update(name="people.csv")


def imported_rows_with(address: str) -> tuple[list[dict[str, str]], int]:
    """Return the imported rows with an address that companies still keep, for the person.

    Those of files that no worker has read yet as well, of MOST_UNREAD_BYTES of such files: also
    returns how many were too many to be searched. A file waits for seconds, unless workers stand.
    """
    parts = StoredPart.objects.filter(id__in=_file_parts_with(address, StoredFile.Purpose.IMPORT))
    files: list[Iterable[ImportRow]] = [rows_in(bytes(part.data)) for part in parts.order_by("id")]
    left, not_searched = MOST_UNREAD_BYTES, 0
    for run in unread_files().select_related("file"):
        left -= run.file.size_bytes
        if left < 0:
            not_searched += 1
        elif unread_file_may_hold(run, address):
            files.append(rows_of_unread_file(run))
    refused = ImportRefusal.objects.filter(
        id__in=_ids_of_file_parts(_REFUSALS, {"address": address})
    )
    rows = ((row.name, row.email) for row in chain.from_iterable(files))
    pattern = _pattern_in_files(address)
    own = [
        {"name": name, "email": email}
        for name, email in chain(rows, refused.order_by("id").values_list("name", "email"))
        if pattern.search(f"{email} {name}".lower())
    ]
    return own, not_searched


def erase_in_exports(address: str, job_ids: Collection[UUID]) -> None:
    """Remove the files made of these jobs that have an address, and those being written just now.

    Who writes one notices, and starts again; who wants a removed one has it made again. No other
    one begins before this transaction has ended.
    """
    hold_file_writes()
    exports = StoredFile.objects.filter(purpose=StoredFile.Purpose.EXPORT, job_id__in=job_ids)
    remove_files(exports.filter(is_complete=False))
    pattern = _pattern_in_files(address)
    for part_id in _file_parts_with(address, StoredFile.Purpose.EXPORT, job_ids):
        part = StoredPart.objects.filter(id=part_id).first()
        if part is not None and pattern.search(bytes(part.data).decode().lower()):
            remove_files(exports.filter(id=part.file_id))


def _pattern_in_files(address: str) -> re.Pattern[str]:
    """Return a pattern for the address itself, not for a longer one around it."""
    spellings = "|".join(re.escape(spelling) for spelling in _spellings_in_files(address))
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    return re.compile(f"{before}(?:{spellings}){after}")


def _spellings_in_files(address: str) -> list[str]:
    """Return the spellings of an address in a file: plain, in JSON, in CSV."""
    in_json = json.dumps(address, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([address, in_json, address.replace('"', '""')]))


def _file_parts_with(
    address: str, purpose: StoredFile.Purpose, job_ids: Collection[UUID] | None = None
) -> list[int]:
    jobs = None if job_ids is None else list(job_ids)
    return _ids_of_file_parts(
        _PARTS, {"purpose": purpose.value, "jobs": jobs, "spellings": _spellings_in_files(address)}
    )


def _ids_of_file_parts(statement: str, parameters: dict[str, object]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)  # type: ignore[arg-type]  # lists are arrays
        return [row[0] for row in cursor.fetchall()]
