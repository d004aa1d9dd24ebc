"""Settlement of due jobs, for the decay worker and for callers that need one job up to date."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from pipeline.line.lock import line_transaction, lock_due_job, lock_job
from pipeline.line.settle import settle_open_or_closed_job
from tasks import log_context


@dataclass(frozen=True, slots=True)
class Settled:
    """Result of one step of the decay worker."""

    job_id: UUID
    events: int


class SettlingFailed(Exception):
    """One job could not be settled; the cause is chained. Other jobs are not affected."""

    def __init__(self, job_id: UUID) -> None:
        super().__init__(f"job {job_id} could not be settled")
        self.job_id = job_id


@line_transaction
def settle(*, job_id: UUID) -> int:
    """Settle one job now, and return the number of events. Raises JobNotFound."""
    return settle_open_or_closed_job(lock_job(job_id))


def settle_next_due(*, skip: Collection[UUID] = ()) -> Settled | None:
    """Settle the unlocked job that has been due for longest. Returns None if there is none.

    Raises SettlingFailed, with the id of the job to skip for a while.
    """
    with transaction.atomic(durable=True):
        job = lock_due_job(skip=skip)
        if job is None:
            return None
        try:
            with log_context.bound_fields(job_id=str(job.id)):
                return Settled(job.id, settle_open_or_closed_job(job))
        except Exception as error:
            raise SettlingFailed(job.id) from error


def seconds_until_settlement(*, skip: Collection[UUID] = ()) -> float | None:
    """Return the seconds until the next job is due, by the database's clock, or None."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM min(next_due_at) - clock_timestamp())::float8"
            " FROM jobs_job WHERE next_due_at IS NOT NULL AND id <> ALL(%s::uuid[])",
            [list(skip)],
        )
        seconds = cursor.fetchone()[0]
        return None if seconds is None else max(0.0, seconds)
