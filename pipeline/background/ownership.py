"""Check that the ids in a payload belong to the company."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.models import StoredFile
from tasks.errors import InvalidPayload

# The fields of payloads that name something of a company's, and what a foreign one is told.
NAMES = {"job_id": "There is no such job.", "import_id": "There is no such import."}


def foreign_ids(company_id: UUID, works: Sequence[tuple[str, Any]]) -> dict[int, InvalidPayload]:
    """Return a refusal for each payload with a foreign id, by number; one query per kind of id."""
    named = [
        (number, field, _as_id(payload[field]))
        for number, (_key, payload) in enumerate(works)
        if isinstance(payload, dict)
        for field in NAMES
        if field in payload
    ]
    own = {field: _own(field, company_id, _ids(named, field)) for field in NAMES}
    return {
        number: InvalidPayload(works[number][0], [(field, NAMES[field])])
        for number, field, thing in named
        if thing not in own[field]
    }


def _ids(named: Iterable[tuple[int, str, UUID | None]], of_field: str) -> set[UUID]:
    return {thing for _number, field, thing in named if field == of_field and thing is not None}


def _own(field: str, company_id: UUID, ids: set[UUID]) -> set[UUID]:
    if not ids:
        return set()
    if field == "job_id":
        return set(
            Job.objects.filter(company_id=company_id, id__in=ids).values_list("id", flat=True)
        )
    files = StoredFile.objects.filter(company_id=company_id, id__in=ids)
    return set(files.filter(purpose=StoredFile.Purpose.IMPORT).values_list("id", flat=True))


def _as_id(value: Any) -> UUID | None:
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        return None
