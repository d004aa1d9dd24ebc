"""Record of changes that are no events, written in the transaction of the change itself."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from pipeline.models import Application, Change, ChangeKind


def record_change(
    kind: ChangeKind,
    *,
    company_id: UUID,
    job_id: UUID | None = None,
    webhook_id: UUID | None = None,
) -> None:
    """Record a change of a job or a webhook endpoint that no log has."""
    Change.objects.create(kind=kind, company_id=company_id, job_id=job_id, webhook_id=webhook_id)


def record_application_changes(kind: ChangeKind, application_ids: Collection[UUID]) -> None:
    """Record a change of some applications that no log has, in two statements."""
    found = Application.objects.filter(id__in=application_ids).order_by("id")
    rows = found.values_list("job__company_id", "job_id", "id")
    Change.objects.bulk_create(
        [
            Change(kind=kind, company_id=company_id, job_id=job_id, application_id=application_id)
            for company_id, job_id, application_id in rows
        ]
    )
