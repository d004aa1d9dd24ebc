"""A company's own id and texts on its jobs and applications."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from applicants.models import ERASED_NAME
from pipeline.domain.errors import ExternalIdTaken, PersonErased
from pipeline.models import Application, ApplicationReference, ChangeKind, Reference
from pipeline.services.changes import record_application_changes
from tasks.advisory_locks import EXTERNAL_IDS

# Always in the same order, whatever the order of the ids.
_HOLD = """
SELECT pg_advisory_xact_lock(%s, id)
FROM (SELECT DISTINCT hashtext(id) AS id FROM unnest(%s::text[]) id ORDER BY id) ordered
"""


@transaction.atomic(durable=True)
def change_application_reference(
    *, company_id: UUID, application_id: UUID, changes: Mapping[str, Any]
) -> None:
    """Change what the company attached to an application: `external_id`, `metadata` or both.

    Neither concerns the line, so this does not lock the job and logs nothing; copies learn of it
    as a change. Raises ExternalIdTaken, and PersonErased, since either may name the person.
    """
    if changes:
        # An erasure, also at the end of the retention, changes this row first: one of the two waits
        # for the other.
        held = Application.objects.select_for_update(no_key=True).only("name")
        if held.get(id=application_id).name == ERASED_NAME:
            raise PersonErased
        row = ApplicationReference(application_id=application_id, company_id=company_id, **changes)
        write_reference(row, changes)
        record_application_changes(ChangeKind.APPLICATION_CHANGED, [application_id])


def lock_external_ids_of_references(external_ids: Collection[str]) -> None:
    """Hold several ids until the transaction ends, before they are written in any order.

    Without this, two transactions that write the same two ids in opposite orders would each wait
    for the other.
    """
    if len(external_ids) > 1:
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, [EXTERNAL_IDS, list(external_ids)])


def write_reference(row: Reference, named: Mapping[str, Any]) -> None:
    """Write a reference, or the named fields of one that exists already.

    The index on a company's ids decides, even between two simultaneous changes: the later one
    waits for the earlier one's commit. Raises ExternalIdTaken; the caller's transaction can
    continue.
    """
    rows: Any = row._meta.default_manager
    try:
        with transaction.atomic():
            rows.bulk_create(
                [row], update_conflicts=True, unique_fields=["pk"], update_fields=list(named)
            )
    except IntegrityError:
        same = {"company_id": row.company_id, "external_id": row.external_id}
        holder = rows.filter(**same).values_list("pk", flat=True).first()
        if holder is None:
            raise
        raise ExternalIdTaken(
            kind=row.kind, external_id=row.external_id, existing_id=holder
        ) from None
