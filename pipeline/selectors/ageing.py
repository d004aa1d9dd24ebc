"""Reads of how long people have been in review, against the targets of their jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from jobs.models import Job
from jobs.review_clock import ReviewClock
from pipeline.line.clock import read_company_clock


class ReviewLoad(NamedTuple):
    """Reviews of a job: when the longest one began, and how many are past the target.

    `lately` counts those that began in the last 24 hours.
    """

    oldest_since: datetime | None
    overdue: int
    lately: int


@dataclass(frozen=True, slots=True)
class ReviewAge:
    """Age of a review, in the days and hours of its target, and when it is due."""

    age_seconds: int
    target_seconds: int
    due_at: datetime
    is_overdue: bool
    works: bool  # whether only the company's working hours count
    share: float  # of the target; above 1 if overdue

    @classmethod
    def of(cls, clock: ReviewClock | None, since: datetime, now: datetime) -> ReviewAge | None:
        """Return the age of a review; None without a target."""
        if clock is None:
            return None
        due_at = clock.due_at(since)
        age, works = clock.age_seconds(since, now), clock.hours is not None
        share = clock.used_share(since, now)
        return cls(age, clock.target_seconds, due_at, due_at <= now, works, share)


def overdue_since(clock: ReviewClock | None, company_id: UUID) -> datetime:
    """Return since when a review is past its target now; before all times without a target."""
    if clock is None:
        return datetime.min.replace(tzinfo=UTC)
    return clock.cutoff(read_company_clock(company_id).now)


_LOADS = """
SELECT job.id, (
    SELECT min(status_since) FROM pipeline_application
    WHERE job_id = job.id AND status = 'ACTIVE'
), (
    SELECT count(*) FROM pipeline_application
    WHERE job_id = job.id AND status = 'ACTIVE' AND status_since <= job.cutoff
), (
    SELECT count(*) FROM pipeline_application
    WHERE job_id = job.id AND status = 'ACTIVE'
      AND status_since > %(now)s::timestamptz - interval '1 day'
)
FROM unnest(%(jobs)s::uuid[], %(cutoffs)s::timestamptz[]) job (id, cutoff)
"""


def read_review_loads(jobs: Sequence[Job], now: datetime) -> dict[UUID, ReviewLoad]:
    """Return the reviews of each job at a time of the company's clock, in at most one query.

    Posting and company must have been read with the jobs.
    """
    held = [job for job in jobs if job.active_count]
    if not held:
        return {}
    with connection.cursor() as cursor:
        cutoffs = [job.review_clock.cutoff(now) if job.review_clock else None for job in held]
        values: dict[str, Any] = {"jobs": [job.id for job in held], "cutoffs": cutoffs, "now": now}
        cursor.execute(_LOADS, values)
        return {job_id: ReviewLoad(*counts) for job_id, *counts in cursor.fetchall()}


def overdue_job_ids(company_id: UUID, now: datetime) -> list[UUID]:
    """Return the jobs of a company with a review past its target, in at most two queries."""
    jobs = _jobs_with_target(Job.objects.filter(company_id=company_id))
    loads = read_review_loads(jobs, now)
    return [job_id for job_id, load in loads.items() if load.overdue]


def read_jobs_with_target() -> list[Job]:
    """Return the jobs with a target and someone in review, outside sandboxes, in one query."""
    return _jobs_with_target(Job.objects.filter(is_test=False))


def _jobs_with_target(jobs: Any) -> list[Job]:
    wanted = jobs.filter(active_count__gt=0, posting__review_target_seconds__isnull=False)
    return list(wanted.select_related("posting", "company").order_by("id"))


# Decisions that wait until they cannot be undone count as made.
_LATE = """
SELECT person.job_id, person.id, person.status_since
FROM unnest(%(jobs)s::uuid[], %(cutoffs)s::timestamptz[]) job (id, cutoff)
JOIN pipeline_application person ON person.job_id = job.id
    AND person.status = 'ACTIVE' AND person.status_since <= job.cutoff
WHERE NOT EXISTS (
    SELECT FROM pipeline_reviewnotice notice
    WHERE notice.application_id = person.id AND notice.since = person.status_since
      AND notice.kind = ANY(%(kinds)s::text[])
) AND NOT EXISTS (
    SELECT FROM pipeline_decisionitem item
    WHERE item.application_id = person.id AND item.state IN ('WAITING', 'DECIDING')
)
ORDER BY person.status_since, person.id
"""


def read_late_reviews(
    jobs: Collection[Job], now: datetime, *, times: int, without: Collection[str]
) -> Mapping[UUID, list[tuple[UUID, datetime]]]:
    """Return the reviews that have taken several times their target, and when they began, by job.

    Leaves out those with a notice of one of these kinds. In one query.
    """
    clocks = [(job.id, job.review_clock) for job in jobs]
    cutoffs = {job_id: clock.cutoff(now, times=times) for job_id, clock in clocks if clock}
    found: dict[UUID, list[tuple[UUID, datetime]]] = {}
    values: dict[str, Any] = {"jobs": list(cutoffs), "cutoffs": list(cutoffs.values())}
    with connection.cursor() as cursor:
        values["kinds"] = list(without)
        cursor.execute(_LATE, values)
        for job_id, application_id, since in cursor.fetchall():
            found.setdefault(job_id, []).append((application_id, since))
    return found
