"""Plan of seats that open or close at a time, once or weekly."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from uuid import UUID

from uuid_utils.compat import uuid7

from jobs.models import MAX_CAPACITY, JobPosting, JobStatus
from jobs.time_zones import known_time_zones
from pipeline.domain.errors import (
    IllegalJobMove,
    JobNotFound,
    PlanRefused,
    TooManyPlannedSeats,
)
from pipeline.domain.states import Actor
from pipeline.line.lock import lock_job
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import MOST_TIMES, ChangeKind, PlannedSeats
from pipeline.services.changes import record_change

MOST_PLANS = 20
LONGEST_AHEAD = timedelta(days=731)

security = logging.getLogger("security")


@dataclass(frozen=True, slots=True)
class SeatPlan:
    """Seats that open, or close if negative, at `first_at` and then weekly, `times` times in all.

    The weeks are counted in `zone`, so that the local time stays the same.
    """

    seats: int
    first_at: datetime
    zone: str = "UTC"
    times: int = 1

    def check(self, now: datetime) -> None:
        """Check the values of a plan that is made at `now`. Raises PlanRefused."""
        why = ""
        if not self.seats or abs(self.seats) > MAX_CAPACITY:
            why = f"Plan 1 to {MAX_CAPACITY:,} seats, or a negative number to close."
        elif not now < self.first_at <= now + LONGEST_AHEAD:
            why = "The first time must be in the future, at most two years ahead."
        elif not 1 <= self.times <= MOST_TIMES:
            why = f"Plan 1 to {MOST_TIMES} times."
        elif self.zone not in known_time_zones():
            why = "There is no such time zone."
        if why:
            raise PlanRefused(why=why)


@line_transaction
def plan_seats(
    *, job_id: UUID, plan: SeatPlan, actor: Actor, planned_id: UUID | None = None
) -> PlannedSeats:
    """Plan a change of a job's number of seats, which the settlement then carries out once.

    `planned_id`: the id of the new row; if it exists, it is returned as it is. Raises JobNotFound,
    also for a deleted draft, IllegalJobMove for a closed job, TooManyPlannedSeats, and PlanRefused
    if a value is out of range or the plans together would leave the limits of a job's seats.
    """
    job = lock_job(job_id)
    if not JobPosting.objects.filter(job_id=job.id).exists():  # a deleted draft
        raise JobNotFound
    settle_due(job)
    plans = list(PlannedSeats.objects.filter(job_id=job.id))
    for known in plans:
        if known.id == planned_id:
            return known
    if job.status is JobStatus.CLOSED:
        raise IllegalJobMove(status=job.status.value, verb="plan seats")
    if len(plans) >= MOST_PLANS:
        raise TooManyPlannedSeats(limit=MOST_PLANS)
    plan.check(job.now)
    row = PlannedSeats(
        id=planned_id or uuid7(), job_id=job.id, next_at=plan.first_at, **asdict(plan)
    )
    changes = sorted(
        (each.time_of(number), each.id, each.seats)
        for each in (*plans, row)
        for number in range(each.done, each.times)
    )
    totals = accumulate((seats for *_, seats in changes), initial=job.capacity)
    if not all(1 <= total <= MAX_CAPACITY for total in totals):
        raise PlanRefused(
            why=f"With all its plans, the job must always have 1 to {MAX_CAPACITY:,} seats."
        )
    row.save(force_insert=True)
    record_change(ChangeKind.PLANNED_SEATS_CHANGED, company_id=job.company_id, job_id=job.id)
    job.note_due(row.next_at)
    write(job, commit=True)
    ids = {"company": job.company_id, "job": job.id, "actor": actor.id, "planned_seats": row.id}
    facts = {name: str(value) for name, value in ids.items()}
    security.info("seats.planned", extra=facts | {"seats": row.seats, "times": row.times})
    return row
