"""Planned changes of the number of seats, carried out under the job's lock at their time."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from jobs.models import MAX_CAPACITY
from pipeline.domain.states import PLANNED_SEATS, SYSTEM, EventType
from pipeline.line import sql
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move
from pipeline.models import PlannedSeats


def change_planned_seats(job: LockedJob, rows: list[Any]) -> None:
    """Carry out the plans in `rows` of `sql.PLANNED` for all times up to `job.now`, in order.

    Each change is a separate event, effective at its planned time, however late it is carried out.
    It names its plan, and is the cause of the promotions into its seats. The number of seats
    stays within its limits; a change that would not alter it leaves no event. Makes the job due at
    the plans' next times, and deletes plans that are done.
    """
    plans = [PlannedSeats.from_db("default", sql.PLANNED, row) for row in rows]
    due = [(plan.next_at, plan.id, plan) for plan in plans]
    heapify(due)
    while due:
        at, _, plan = heappop(due)
        free, before = job.seats_free, job.capacity
        job.capacity = min(max(before + plan.seats, 1), MAX_CAPACITY)
        if job.capacity != before:
            facts = {PLANNED_SEATS: str(plan.id)}
            entry = make_job_move(
                job, EventType.CAPACITY_CHANGED, actor=SYSTEM, effective_at=at, facts=facts
            )
            job.freed_by.extend([entry.seq] * (job.seats_free - free))
            while len(job.freed_by) > job.seats_free:  # a seat that has just opened closes again
                job.freed_by.pop()
        plan.done += 1
        if not plan.times_left:
            plan.delete()
            continue
        plan.next_at = plan.time_of(plan.done)
        if plan.next_at <= job.now:
            heappush(due, (plan.next_at, plan.id, plan))
            continue
        plan.save(update_fields=["done", "next_at"])
        job.note_due(plan.next_at)
