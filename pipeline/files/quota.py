"""Limit of the bytes that a company may have in waiting imports and download files."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db.models import Q, Sum

from pipeline.domain.errors import FilesFull
from pipeline.models import StoredFile


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
