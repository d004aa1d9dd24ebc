"""Bound of the bytes that one company may have waiting in imports, and in files to download."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db.models import Q, Sum

from pipeline.domain.errors import FilesFull
from pipeline.models import StoredFile


def refuse_beyond_quota(company_id: UUID, *, more_bytes: int = 1) -> None:
    """Refuse a file for which a company has no room. Raises FilesFull.

    The rows of an ended import are gone, so it does not count. Files that are stored at the same
    time do not see each other: together they may pass the limit once.
    """
    waiting = Q(purpose=StoredFile.Purpose.EXPORT) | Q(import_run__finished_at=None)
    theirs = StoredFile.objects.filter(waiting, company_id=company_id, is_complete=True)
    used = theirs.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0
    limit: int = settings.FILE_BYTES_PER_COMPANY
    if used + more_bytes > limit:
        raise FilesFull(used=used, limit=limit)
