"""Reads of the files that the database holds for a company."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db.models.functions import Now

from pipeline.domain.errors import StoredFileNotFound
from pipeline.models import StoredFile, StoredPart


def read_stored_file(company_id: UUID, file_id: UUID) -> StoredFile:
    """Return a file that was made for a company to download. Raises StoredFileNotFound.

    Incomplete and expired files count as not found.
    """
    theirs = StoredFile.objects.filter(id=file_id, company_id=company_id, is_complete=True)
    exports = theirs.filter(purpose=StoredFile.Purpose.EXPORT, expires_at__gt=Now())
    found = exports.first()
    if found is None:
        raise StoredFileNotFound
    return found


def read_file_pieces(file_id: UUID) -> Iterator[bytes]:
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
