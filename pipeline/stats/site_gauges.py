"""The state of all lines but those of sandboxes in a few numbers, for monitoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connection

from jobs.models import JobStatus
from pipeline.domain.states import Status

# All numbers, from one pass over the jobs' hot rows. Reads at most as many waiting people as free
# seats.
_READ = """
WITH job AS MATERIALIZED (
    SELECT id, status, seq, active_count, pending_count, waitlist_count, head_ticket, next_due_at,
           greatest(0, capacity - active_count - pending_count) AS seats_free
    FROM jobs_job WHERE NOT is_test
), idle AS (
    SELECT sum((SELECT count(*) FROM (
        SELECT FROM pipeline_application
        WHERE job_id = job.id AND status = 'WAITLIST' AND ticket >= job.head_ticket
          AND (eligible_at IS NULL OR eligible_at <= statement_timestamp())
          AND (not_before IS NULL OR not_before <= statement_timestamp())
          AND verify_by IS NULL
        LIMIT job.seats_free
    ) eligible)) AS seats
    FROM job WHERE status = 'OPEN' AND seats_free > 0 AND waitlist_count > 0
), overdue AS (
    SELECT count(*) AS jobs, extract(epoch FROM statement_timestamp() - min(next_due_at)) AS seconds
    FROM job WHERE next_due_at <= statement_timestamp()
)
SELECT count(*) FILTER (WHERE status = 'DRAFT'), count(*) FILTER (WHERE status = 'OPEN'),
       count(*) FILTER (WHERE status = 'PAUSED'), count(*) FILTER (WHERE status = 'CLOSED'),
       coalesce(sum(waitlist_count), 0)::bigint, coalesce(sum(pending_count), 0)::bigint,
       coalesce(sum(active_count), 0)::bigint, coalesce(sum(seq), 0)::bigint,
       (SELECT coalesce(seats, 0)::bigint FROM idle),
       (SELECT jobs FROM overdue), (SELECT coalesce(seconds, 0)::float8 FROM overdue),
       (SELECT extract(epoch FROM statement_timestamp() - completed_at)::float8
        FROM pipeline_heartbeat WHERE worker = 'decay')
FROM job
"""


@dataclass(frozen=True, slots=True)
class Vitals:
    """All lines in numbers. Only live applications count, from the counters in the jobs' rows."""

    jobs: Mapping[str, int]
    applications: Mapping[str, int]
    # Every log counts from 1 without gaps, so this is the sum of their last seqs.
    events: int
    # Free seats of open jobs with an eligible person waiting: 0 except for moments.
    idle_seats_with_eligible: int
    overdue_jobs: int
    oldest_overdue_seconds: float
    # Seconds since the decay worker was last seen; None if never.
    decay_heartbeat_seconds: float | None


def read_site_gauges() -> Vitals:
    """Return the state of all lines as of one instant, in one query.

    It reads each job's row once.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        row = cursor.fetchone()
    live = (Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT, Status.ACTIVE)
    return Vitals(
        {status.value: count for status, count in zip(JobStatus, row[:4], strict=True)},
        {status.value: count for status, count in zip(live, row[4:7], strict=True)},
        *row[7:],
    )
