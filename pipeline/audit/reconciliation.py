"""Comparison of a job's live rows with the sum of its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from jobs.models import MAX_CAPACITY, Job, JobStatus
from jobs.policies import logged_policy_values
from pipeline.audit.log_fold import LogFold
from pipeline.database.instants import database_now
from pipeline.domain.states import Status
from pipeline.line.event_log import parse_logged_time
from pipeline.line.settle import MOST_SANDBOX_EVENTS
from pipeline.models import Application, Contest, PlannedSeats
from pipeline.selectors.past_states import PastPlace

COMPARED = (
    "status outcome decay_count ticket tie eligible_at not_before accept_until verify_by"
    " passes_used pass_next passed_at"
    " acknowledge_by deadline_extended applied_at promoted_at acknowledged_at ended_at status_since"
).split()


def reconcile(fold: LogFold, job: Job) -> list[str]:
    """Return every difference as a sentence: in applications, counters, the job's row and hints."""
    rows = {
        row.id: row for row in Application.objects.filter(job_id=job.id).defer("name").iterator()
    }
    return [
        *_reconcile_applications(fold.places, rows),
        *_reconcile_job(fold, job, rows),
        *_reconcile_hints(job, rows),
        *_reconcile_planned_seats(fold, job),
        *fold.contests.differences(Contest.objects.filter(job_id=job.id).defer("text")),
    ]


def _reconcile_applications(
    places: dict[UUID, PastPlace], rows: dict[UUID, Application]
) -> Iterator[str]:
    for application_id in sorted(places.keys() | rows.keys()):
        place, row = places.get(application_id), rows.get(application_id)
        if place is None or row is None:
            where = "the rows" if place is None else "the log"
            yield f"application {application_id}: only in {where}"
            continue
        for name in COMPARED:
            logged, live = getattr(place, name), getattr(row, name)
            yield from _reconcile_values(f"application {application_id}: {name}", logged, live)


def _reconcile_job(fold: LogFold, job: Job, rows: dict[UUID, Application]) -> Iterator[str]:
    counted = Counter(row.status for row in rows.values())
    for status, counter in (
        (Status.ACTIVE, "active_count"),
        (Status.PENDING_ACKNOWLEDGMENT, "pending_count"),
        (Status.WAITLIST, "waitlist_count"),
    ):
        if counted[status] != getattr(job, counter):
            yield f"job: {counter} is {getattr(job, counter)}, its rows count {counted[status]}"
    unverified = sum(row.status == Status.WAITLIST and not row.is_verified for row in rows.values())
    yield from _reconcile_values("job: unverified_count", unverified, job.unverified_count)
    logged: dict[str, Any] = {
        "status": fold.job["status"],
        "capacity": fold.job["capacity"],
        "policy_version": fold.policy_version,
        "next_ticket": fold.next_ticket,
        "last_event_at": fold.at,
        "opened_at": fold.opened_at,
        "closed_at": fold.closed_at,
        "draw_at": parse_logged_time(fold.job.get("draw_at")),
        "drawn_at": fold.draw.drawn_at,
        "is_test": "clock_offset_seconds" in fold.job,
        "clock_offset_seconds": fold.job.get("clock_offset_seconds", 0),
        **logged_policy_values(fold.job["policy"]),
    }
    for name, value in logged.items():
        yield from _reconcile_values(f"job: {name}", value, getattr(job, name))


def _reconcile_hints(job: Job, rows: dict[UUID, Application]) -> Iterator[str]:
    waiting = [row for row in rows.values() if row.status == Status.WAITLIST]
    lowest = min([job.next_ticket, *(row.ticket or 0 for row in waiting)])
    if job.head_ticket > lowest:
        yield f"job: head_ticket is {job.head_ticket}, more than the lowest ticket {lowest}"
    moments = [row.acknowledge_by for row in rows.values() if row.acknowledge_by]
    moments += [row.verify_by for row in waiting if row.verify_by]
    if job.status != JobStatus.CLOSED:
        moments += PlannedSeats.objects.filter(job_id=job.id).values_list("next_at", flat=True)
    if job.draw_at and job.awaits_draw and job.status in (JobStatus.OPEN, JobStatus.PAUSED):
        moments.append(job.draw_at)
    elif job.status == JobStatus.OPEN and job.seats_free:
        # A seat stays free although someone may take it only while passes are left to be made; then
        # the job is due at once.
        last = job.last_event_at
        moments += [max(row.held_until or last, last) for row in waiting if row.is_verified]
    due = min(moments, default=None)
    if job.is_test and due is not None:
        if job.seq >= MOST_SANDBOX_EVENTS:  # nothing happens in it any more
            return
        # While it is being settled up to a clock that was moved, it is due from the present on.
        due = max(due - timedelta(seconds=job.clock_offset_seconds), database_now())
    if due is not None and (job.next_due_at is None or job.next_due_at > due):
        yield f"job: next_due_at is {job.next_due_at}, later than {due}"


def _reconcile_planned_seats(fold: LogFold, job: Job) -> Iterator[str]:
    """Compare each plan's row with its changes in the log.

    A change that the limits of a job's seats reduced to nothing has left no event.
    """
    for plan in PlannedSeats.objects.filter(job_id=job.id).order_by("id"):
        what = f"planned seats {plan.id}"
        yield from _reconcile_values(f"{what}: next_at", plan.time_of(plan.done), plan.next_at)
        times, changes = (
            {plan.time_of(n) for n in range(plan.done)},
            fold.planned.changes.get(plan.id, []),
        )
        for change in changes:
            expected = min(max(change.before + plan.seats, 1), MAX_CAPACITY)
            if change.effective_at not in times:
                yield f"{what}: seq {change.seq} changed seats when the plan does not, or not yet"
            elif change.after != expected:
                yield f"{what}: seq {change.seq} left {change.after} seats, by the plan {expected}"
        limit = MAX_CAPACITY if plan.seats > 0 else 1
        if len(changes) < plan.done and limit not in fold.planned.capacities:
            yield f"{what}: done is {plan.done}, the log has {len(changes)} changes by it"


def _reconcile_values(what: str, logged: object, live: object) -> Iterator[str]:
    if logged != live:
        yield f"{what} is {live}, the log says {logged}"
