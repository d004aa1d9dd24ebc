"""Files that the database holds for a company: reads, writes and quota."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Now

from pipeline.domain.errors import FilesFull, StoredFileNotFound
from pipeline.models import StoredFile, StoredPart
from tasks.advisory_locks import BEGIN_FILE


def read(company_id: UUID, file_id: UUID) -> StoredFile:
    """Return a file that was made for a company to download. Raises StoredFileNotFound.

    Incomplete and expired files count as not found.
    """
    theirs = StoredFile.objects.filter(id=file_id, company_id=company_id, is_complete=True)
    exports = theirs.filter(purpose=StoredFile.Purpose.EXPORT, expires_at__gt=Now())
    found = exports.first()
    if found is None:
        raise StoredFileNotFound
    return found


def read_pieces(file_id: UUID) -> Iterator[bytes]:
    """Yield a file part by part, with one part in memory and one short query each.

    Raises StoredFileNotFound if the file is removed while it is read (it expired, or someone in it
    was erased), so that a partial download is not taken for the whole.
    """
    parts = StoredPart.objects.filter(file_id=file_id).order_by("number")
    number, size = -1, 0
    while found := parts.filter(number__gt=number).values_list("number", "data").first():
        if found[0] != number + 1:
            raise StoredFileNotFound
        number, size = found[0], size + len(found[1])
        yield bytes(found[1])
    if not StoredFile.objects.filter(id=file_id, is_complete=True, size_bytes=size).exists():
        raise StoredFileNotFound


# Limit of the bytes that a company may have in waiting imports and download files.


def refuse_beyond_quota(company_id: UUID, *, more_bytes: int = 1) -> None:
    """Refuse another file if the company has no room for it. Raises FilesFull.

    An ended import has no rows left, so it does not count. Files stored at the same time do not see
    each other, so together they may exceed the limit once.
    """
    waiting = Q(purpose=StoredFile.Purpose.EXPORT) | Q(import_run__finished_at=None)
    theirs = StoredFile.objects.filter(waiting, company_id=company_id, is_complete=True)
    used = theirs.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0
    limit: int = settings.FILE_BYTES_PER_COMPANY
    if used + more_bytes > limit:
        raise FilesFull(used=used, limit=limit)


# Storage of files in the database, in parts that end at line ends. A part has at most PART_BYTES (a
# longer line is a separate part), and only one is held in memory. Every line lies within one part,
# so parts can be searched for an address.


FILE_KEPT_DAYS = 7
PART_BYTES = 2**20

_KEEP = """
INSERT INTO pipeline_storedpart (file_id, number, data) VALUES (%s, %s, %s)
"""


def write_parts(file_id: UUID, parts: Iterable[tuple[int, bytes]]) -> None:
    """Store parts of a file, each with its number."""
    with connection.cursor() as cursor, connection.wrap_database_errors:
        rows = [(file_id, number, data) for number, data in parts]
        psycopg.Cursor(cursor.connection).executemany(_KEEP, rows)


def hold_writes() -> None:
    """Block new files until this transaction ends. Their writers then read its changes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [BEGIN_FILE])


@transaction.atomic
def remove(files: QuerySet[StoredFile]) -> None:
    """Remove files and their parts, even files that are being written.

    A writer of a part locks its file first, so no part is added in between.
    """
    ids = list(files.select_for_update().order_by("id").values_list("id", flat=True))
    StoredFile.objects.filter(id__in=ids).delete()


class FileWriter:
    """Writer of a file for a company, which can download it after `finish`.

    Each part is committed separately unless the caller has an open transaction. Begin a file of
    people before reading them: erasing someone removes every file that is being written, and the
    writer then raises StoredFileNotFound (start again).
    """

    def __init__(self, file: StoredFile) -> None:
        self.file_id = file.id
        self._mine = StoredFile.objects.filter(id=file.id, created_at=file.created_at)
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._size_bytes = 0
        self._number = 0

    @classmethod
    def begin(
        cls,
        *,
        file_id: UUID,
        company_id: UUID,
        job_id: UUID,
        task_id: UUID | None,
        name: str,
        content_type: str,
    ) -> FileWriter:
        """Begin a file with a given id. Anything that an earlier attempt wrote is removed.

        Raises FilesFull.
        """
        with transaction.atomic():
            refuse_beyond_quota(company_id)
            with connection.cursor() as cursor:  # waits until a running erasure is over
                cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [BEGIN_FILE])
            remove(StoredFile.objects.filter(id=file_id, company_id=company_id))
            file = StoredFile.objects.create(
                id=file_id,
                company_id=company_id,
                job_id=job_id,
                purpose=StoredFile.Purpose.EXPORT,
                name=name,
                content_type=content_type,
                task_id=task_id,
                expires_at=Now() + timedelta(days=FILE_KEPT_DAYS),
            )
            file.refresh_from_db(fields=["created_at"])
        return cls(file)

    def write(self, data: bytes) -> None:
        """Append to the file. Pieces may end anywhere. Raises StoredFileNotFound if it is gone."""
        self._kept.append(data)
        self._kept_bytes += len(data)
        if self._kept_bytes >= PART_BYTES:
            self._keep_parts(whole=False)

    def finish(self, *, rows: int) -> StoredFile:
        """Mark the file as complete, with its number of rows. Raises StoredFileNotFound."""
        self._keep_parts(whole=True)
        if not self._mine.update(size_bytes=self._size_bytes, rows=rows, is_complete=True):
            raise StoredFileNotFound
        return self._mine.get()

    def _keep_parts(self, *, whole: bool) -> None:
        """Store full parts, and with `whole` also the rest."""
        data = b"".join(self._kept)
        while len(data) > PART_BYTES or (whole and data):
            end = len(data)
            if end > PART_BYTES:  # after the last line that fits, or after the first
                end = data.rfind(b"\n", 0, PART_BYTES) + 1 or data.find(b"\n") + 1
            if not end and not whole:
                break  # an unfinished line
            end = end or len(data)
            with transaction.atomic():
                if not self._mine.select_for_update().exists():  # another run began the file again
                    raise StoredFileNotFound
                write_parts(self.file_id, [(self._number, data[:end])])
            self._number += 1
            self._size_bytes += end
            data = data[end:]
        self._kept, self._kept_bytes = [data], len(data)
