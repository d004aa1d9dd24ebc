"""Planned seats in tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from pipeline.domain.states import GroupKind
from pipeline.models import PlannedSeats
from pipeline.services.jobs import SeatPlan, cancel_seats, plan_seats
from pipeline.services.reserved import Reserve, reserve_seats
from tests.support import factories
from tests.support.clock import database_now, let_time_pass

WEEK = 7 * 86_400


def planned(job_id: UUID, seats: int = 1, *, seconds: float = 600, **how: Any) -> PlannedSeats:
    """Plan seats that open this many seconds from now, by the job's clock."""
    clock = factories.row_of(job_id).clock_offset_seconds
    first_at = database_now() + timedelta(seconds=seconds + clock)
    return plan_seats(
        job_id=job_id, plan=SeatPlan(seats, first_at, **how), actor=factories.RECRUITER
    )


def reserve(job_id: UUID, seats: int, **how: Any) -> None:
    """Reserve seats of a job for its company's own people."""
    wanted = Reserve(seats, GroupKind.INTERNAL, **how)
    reserve_seats(job_id=job_id, reserve=wanted, actor=factories.RECRUITER)


def job_with_skipped_change(job_id: UUID) -> PlannedSeats:
    """Let a plan of a job with four seats come to its time and be skipped.

    Three seats are reserved, and the plan that was to open others first was cancelled.
    """
    reserve(job_id, 3)
    opening = planned(job_id, 4, seconds=300)
    closing = planned(job_id, -2, times=2)
    cancel_seats(job_id=job_id, planned_id=opening.id, actor=factories.RECRUITER)
    let_time_pass(job_id, 601)
    factories.settle_all()
    return closing
