"""Check that the ids in a payload belong to the company."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.models import StoredFile
from tasks.errors import InvalidPayload

# Payload fields that hold ids of a company's objects, and the messages for foreign ids.
NAMES = {"job_id": "There is no such job.", "import_id": "There is no such import."}


def ids_not_owned(company_id: UUID, works: Sequence[tuple[str, Any]]) -> dict[int, InvalidPayload]:
    """Return a refusal for each payload with a foreign id, by index. One query per kind of id."""
    named: list[tuple[int, str, UUID | None]] = []
    for number, (_key, payload) in enumerate(works):
        for field in NAMES:
            if not isinstance(payload, dict) or field not in payload:
                continue
            try:
                named.append((number, field, UUID(payload[field])))
            except (ValueError, TypeError, AttributeError):
                named.append((number, field, None))
    jobs = Job.objects.filter(company_id=company_id, posting__isnull=False)
    imports = StoredFile.objects.filter(company_id=company_id, purpose=StoredFile.Purpose.IMPORT)
    own: dict[str, set[UUID]] = {}
    for field, things in (("job_id", jobs), ("import_id", imports)):
        ids = {thing for _number, name, thing in named if name == field and thing is not None}
        own[field] = set(things.filter(id__in=ids).values_list("id", flat=True)) if ids else set()
    return {
        number: InvalidPayload(works[number][0], [(field, NAMES[field])])
        for number, field, thing in named
        if thing not in own[field]
    }
