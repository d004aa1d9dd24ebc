"""Cancellation of planned seats."""

from __future__ import annotations

import logging
from uuid import UUID

from pipeline.domain.errors import PlannedSeatsNotFound
from pipeline.domain.states import Actor
from pipeline.line.lock import lock_job
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import ChangeKind, PlannedSeats
from pipeline.services.changes import record_change

security = logging.getLogger("security")


@line_transaction
def cancel_seats(*, job_id: UUID, planned_id: UUID, actor: Actor) -> None:
    """Cancel a plan's coming changes. Changes that are due are carried out first, and stay.

    Raises JobNotFound, and PlannedSeatsNotFound if the plan has no changes left.
    """
    job = lock_job(job_id)
    settle_due(job, only_ends=True)
    deleted, _ = PlannedSeats.objects.filter(job_id=job.id, id=planned_id).delete()
    if not deleted:
        raise PlannedSeatsNotFound
    record_change(ChangeKind.PLANNED_SEATS_CHANGED, company_id=job.company_id, job_id=job.id)
    write(job, commit=True)
    ids = {"company": job.company_id, "job": job.id, "actor": actor.id, "planned_seats": planned_id}
    security.info("seats.cancelled", extra={name: str(value) for name, value in ids.items()})
