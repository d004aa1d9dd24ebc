"""Reads of the seats that a job will open or close."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.errors import PlannedSeatsNotFound
from pipeline.models import PlannedSeats


def planned_seats_of_job(job_id: UUID) -> list[PlannedSeats]:
    """Return a job's plans, the next one first. There are at most `plan_seats.MOST_PLANS`."""
    return list(PlannedSeats.objects.filter(job_id=job_id).order_by("next_at", "id"))


def read_planned_seats(job_id: UUID, planned_id: UUID) -> PlannedSeats:
    """Return one plan of a job. Raises PlannedSeatsNotFound if it has no changes left."""
    found = PlannedSeats.objects.filter(job_id=job_id, id=planned_id).first()
    if found is None:
        raise PlannedSeatsNotFound
    return found


def planned_seats_cache_tag(plans: list[PlannedSeats]) -> str:
    """Return a text that changes whenever the plans do."""
    return " ".join(f"{plan.id}:{plan.done}" for plan in plans)
