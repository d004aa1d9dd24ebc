"""Figures of a company's jobs in a period, from their logs: hires, waits, reviews, misses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from jobs.models import Job
from pipeline.database.replica import reads_replica

# How many jobs of a company are added up, those that changed last first.
MOST_JOBS = 200
# How many events are read at most, of all these jobs together: the last ones of each.
MOST_EVENTS = 200_000


class PeriodFigures(NamedTuple):
    """Numbers of what happened in a period. Medians are in seconds, None if it never happened."""

    applied: int = 0
    # First offers of people who waited, and their median time since they applied.
    promoted: int = 0
    wait: float | None = None
    # Decisions on people in review, and the median time since they took the seat.
    decided: int = 0
    review: float | None = None
    hired: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class PeriodReport:
    """Figures of each job in which something happened, and of all together.

    `is_cut`: jobs or events of the period were left out, because there are too many or they are in
    the archive.
    """

    by_job: Mapping[UUID, PeriodFigures]
    total: PeriodFigures
    is_cut: bool


_ADD_UP = """
WITH wanted AS (
    SELECT job, first FROM unnest(%(jobs)s::uuid[], %(firsts)s::bigint[]) AS each (job, first)
), told AS MATERIALIZED (
    SELECT job_id, application_id, seq, event, from_status, outcome, at
    FROM wanted JOIN pipeline_event ON job_id = job AND seq >= first
    WHERE at >= %(start)s AND at < %(end)s AND application_id IS NOT NULL
), steps AS (
    SELECT job_id, (event = 'APPLIED')::int AS applied, (outcome = 'HIRED')::int AS hired,
           (event = 'DECAYED'
            OR event = 'LAPSED' AND from_status = 'PENDING_ACKNOWLEDGMENT')::int AS missed,
           NULL::float8 AS wait, NULL::float8 AS review
    FROM told
    UNION ALL
    SELECT job_id, 0, 0, 0, extract(epoch FROM told.at - began.at)::float8, NULL
    FROM told CROSS JOIN LATERAL (
        SELECT at FROM pipeline_event
        WHERE application_id = told.application_id ORDER BY seq LIMIT 1
    ) began
    WHERE event = 'PROMOTED' AND NOT EXISTS (
        SELECT FROM pipeline_event earlier
        WHERE earlier.application_id = told.application_id AND earlier.seq < told.seq
              AND earlier.event = 'PROMOTED'
    )
    UNION ALL
    SELECT job_id, 0, 0, 0, NULL, extract(epoch FROM told.at - seated.at)::float8
    FROM told CROSS JOIN LATERAL (
        SELECT at FROM pipeline_event
        WHERE application_id = told.application_id AND to_status = 'ACTIVE' AND seq < told.seq
        ORDER BY seq DESC LIMIT 1
    ) seated
    WHERE event = 'REMOVED' AND from_status = 'ACTIVE'
)
SELECT job_id, coalesce(sum(applied), 0),
       count(wait), percentile_cont(0.5) WITHIN GROUP (ORDER BY wait),
       count(review), percentile_cont(0.5) WITHIN GROUP (ORDER BY review),
       coalesce(sum(hired), 0), coalesce(sum(missed), 0),
       job_id IS NULL AND EXISTS (
           SELECT FROM wanted JOIN pipeline_event ON job_id = job AND seq = first - 1
           WHERE at >= %(start)s
       )
FROM steps GROUP BY GROUPING SETS ((job_id), ())
"""


@reads_replica
def read_period(company_id: UUID, start: datetime, end: datetime) -> PeriodReport:
    """Return what happened in a company's jobs from `start` until before `end`, in three queries.

    Jobs whose log was moved to the archive are left out, and `is_cut` says so.
    """
    alive = Job.objects.filter(company_id=company_id, created_at__lt=end, last_event_at__gte=start)
    own = alive.filter(removed_log__isnull=True).order_by("-last_event_at")
    is_archived = alive.filter(removed_log__isnull=False).exists()
    jobs = list(own.values_list("id", "seq")[: MOST_JOBS + 1])
    share = MOST_EVENTS // max(1, min(len(jobs), MOST_JOBS))
    values: dict[str, Any] = {
        "jobs": [job_id for job_id, _ in jobs[:MOST_JOBS]],
        "firsts": [max(1, seq - share + 1) for _, seq in jobs[:MOST_JOBS]],
        "start": start,
        "end": end,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADD_UP, values)
        found = {job_id: (PeriodFigures(*each), lost) for job_id, *each, lost in cursor.fetchall()}
    total, is_short = found.pop(None)
    by_job = {job_id: figures for job_id, (figures, _) in found.items()}
    return PeriodReport(by_job, total, is_short or is_archived or len(jobs) > MOST_JOBS)
