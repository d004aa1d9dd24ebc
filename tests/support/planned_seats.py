"""Planned seats in tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from pipeline.models import PlannedSeats
from pipeline.services.jobs import SeatPlan, plan_seats
from tests.support import factories
from tests.support.clock import database_now

WEEK = 7 * 86_400


def planned(job_id: UUID, seats: int = 1, *, seconds: float = 600, **how: Any) -> PlannedSeats:
    """Plan seats that open this many seconds from now, by the job's clock."""
    clock = factories.row_of(job_id).clock_offset_seconds
    first_at = database_now() + timedelta(seconds=seconds + clock)
    return plan_seats(
        job_id=job_id, plan=SeatPlan(seats, first_at, **how), actor=factories.RECRUITER
    )
