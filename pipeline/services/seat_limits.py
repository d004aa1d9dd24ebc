"""Limits that planned changes of a job's seats must keep: of the seats, and of reserved ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import accumulate

from django.utils.translation import gettext_lazy as _

from jobs.models import MAX_CAPACITY
from pipeline.domain.errors import PlanRefused, ReserveRefused
from pipeline.line.locked_job import LockedJob
from pipeline.models import PlannedSeats

FEWER_BY_PLAN = _(
    "With its planned changes, the job would have fewer seats than are reserved. Plan otherwise, "
    "or reserve fewer."
)


def list_totals(capacity: int, plans: Iterable[PlannedSeats]) -> list[tuple[datetime, int, int]]:
    """Return each coming change in order: its time, its seats, and how many the job has after."""
    changes = sorted(
        (each.time_of(number), each.id, each.seats)
        for each in plans
        for number in range(each.done, each.times)
    )
    totals = list(accumulate((seats for *_, seats in changes), initial=capacity))[1:]
    return [(at, seats, n) for (at, _id, seats), n in zip(changes, totals, strict=True)]


def check_plans(job: LockedJob, plans: Iterable[PlannedSeats]) -> None:
    """Check all plans of a job together. Raises PlanRefused, and ReserveRefused."""
    plans = list(plans)
    if not all(1 <= total <= MAX_CAPACITY for *_, total in list_totals(job.capacity, plans)):
        raise PlanRefused(
            why=_("With all its plans, the job must always have 1 to {seats} seats."),
            seats=MAX_CAPACITY,
        )
    check_reserve(plans, job.capacity, job.reserved_seats, job.reserved_until)


def check_reserve(
    plans: Iterable[PlannedSeats], capacity: int, reserved: int, until: datetime | None
) -> None:
    """Check that no plan closes reserved seats before their end. Raises ReserveRefused."""
    for at, seats, total in list_totals(capacity, plans):
        if seats < 0 and total < reserved and (until is None or at < until):
            raise ReserveRefused(why=FEWER_BY_PLAN)
