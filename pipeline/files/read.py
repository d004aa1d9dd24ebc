"""Reads of the files that lie in the database for a company."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db.models.functions import Now

from pipeline.domain.errors import StoredFileNotFound
from pipeline.models import StoredFile, StoredPart


def read_stored_file(company_id: UUID, file_id: UUID) -> StoredFile:
    """Return a file that was made for a company to take away. Raises StoredFileNotFound.

    One that is not complete yet, or whose time is over, is not there either.
    """
    theirs = StoredFile.objects.filter(id=file_id, company_id=company_id, is_complete=True)
    exports = theirs.filter(purpose=StoredFile.Purpose.EXPORT, expires_at__gt=Now())
    found = exports.first()
    if found is None:
        raise StoredFileNotFound
    return found


def read_file_pieces(file_id: UUID) -> Iterator[bytes]:
    """Read a file part by part: one part in memory, one short query each.

    Raises StoredFileNotFound when the file goes while it is read (its time is over, or somebody in
    it was erased): who downloads it must not take a beginning for the whole.
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
