"""Funnel by source: viewed, applied, verified, seated and hired, and how long each step took.

Views are counted by day, everything else by the log. The people of a period are those who applied
in it, wherever they are by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from jobs.models import Job
from pipeline.database.replica import reads_replica
from pipeline.line import removed_logs
from pipeline.line.clock import read_company_clock
from pipeline.sources.origin import DIRECT

# How many sources have a row of their own, those with most applications first.
MOST_SOURCES = 50
# How many jobs of a company are added up, those that changed last first.
MOST_JOBS = 200
# How many events are read at most, of all these jobs together: the last ones of each.
MOST_EVENTS = 200_000
MOST_DAYS, USUAL_DAYS = 3_650, 90


class SourceRow(NamedTuple):
    """People who came from one source. `source` is None for the rest, empty for erased people.

    Each median is of the seconds since the step before, of those who made it.
    """

    source: str | None
    viewed: int
    applied: int
    verified: int
    seated: int
    hired: int
    to_verified: float | None
    to_seated: float | None
    to_hired: float | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Rows of all sources, and their sum. `is_cut`: jobs or old events were left out."""

    rows: list[SourceRow]
    total: SourceRow
    since: datetime
    is_cut: bool


_PEOPLE = """
WITH people AS (
    SELECT application_id,
           min(at) FILTER (WHERE event = 'APPLIED') AS applied_at,
           min(at) FILTER (WHERE event = 'VERIFIED'
                           OR (event = 'APPLIED' AND data ->> 'verify_by' IS NULL)) AS verified_at,
           min(at) FILTER (WHERE to_status = 'ACTIVE') AS seated_at,
           max(at) FILTER (WHERE outcome = 'HIRED') AS hired_at
    FROM unnest(%(jobs)s::uuid[], %(firsts)s::bigint[]) AS wanted (job, first)
    JOIN pipeline_event ON job_id = wanted.job AND seq >= wanted.first AND at >= %(since)s
    WHERE application_id IS NOT NULL GROUP BY application_id
), seen AS (
    SELECT source, sum(views) AS viewed FROM pipeline_jobviews
    WHERE job_id = ANY(%(jobs)s::uuid[]) AND day >= (%(since)s AT TIME ZONE 'UTC')::date
    GROUP BY source
), came AS (
    SELECT coalesce(origin.source, %(direct)s) AS source, people.*
    FROM people LEFT JOIN pipeline_applicationsource origin USING (application_id)
    WHERE applied_at IS NOT NULL
), ranked AS (
    SELECT source, row_number() OVER (ORDER BY sum(people) DESC, sum(viewed) DESC, source) AS place
    FROM (SELECT source, count(*) AS people, 0 AS viewed FROM came GROUP BY source
          UNION ALL SELECT source, 0, viewed FROM seen) each GROUP BY source
), named AS (
    SELECT source, CASE WHEN place <= %(most)s THEN source END AS shown FROM ranked
)
"""
_STEPS = """
count(*), count(verified_at), count(seated_at), count(hired_at),
percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM verified_at - applied_at)::float8),
percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM seated_at - verified_at)::float8),
percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM hired_at - seated_at)::float8)
"""
_FUNNEL = f"""
{_PEOPLE}, steps AS (
    SELECT shown, {_STEPS} FROM came JOIN named USING (source) GROUP BY shown
), views AS (
    SELECT shown, sum(viewed)::bigint AS viewed FROM seen JOIN named USING (source) GROUP BY shown
), shown AS (
    SELECT DISTINCT shown FROM named
)
SELECT false, shown.shown, coalesce(viewed, 0), steps.*
FROM shown LEFT JOIN steps ON steps.shown IS NOT DISTINCT FROM shown.shown
LEFT JOIN views ON views.shown IS NOT DISTINCT FROM shown.shown
UNION ALL
SELECT true, NULL, (SELECT coalesce(sum(viewed), 0)::bigint FROM seen), NULL, {_STEPS}
FROM came
"""  # noqa: S608  of texts that stand above


@reads_replica
def read_job(job: Job, *, days: int) -> Funnel:
    """Return the funnel of a job's last days, in two or three queries. Raises LogArchived."""
    removed_logs.refuse_known(job)
    now = read_company_clock(job.company_id).now
    return _read([(job.id, job.seq)], since=now - timedelta(days=days), is_cut=False)


@reads_replica
def read_company(company_id: UUID, *, days: int) -> Funnel:
    """Return the funnel of a company's jobs added up, in three queries.

    Without jobs whose log was moved to the archive.
    """
    since = read_company_clock(company_id).now - timedelta(days=days)
    own = Job.objects.filter(company_id=company_id, opened_at__isnull=False)
    own = own.filter(removed_log__isnull=True)
    jobs = list(own.order_by("-last_event_at").values_list("id", "seq")[: MOST_JOBS + 1])
    return _read(jobs[:MOST_JOBS], since=since, is_cut=len(jobs) > MOST_JOBS)


def _read(jobs: Sequence[tuple[UUID, int]], *, since: datetime, is_cut: bool) -> Funnel:
    share = MOST_EVENTS // max(1, len(jobs))
    values: dict[str, Any] = {
        "jobs": [job_id for job_id, _ in jobs],
        "firsts": [max(1, seq - share + 1) for _, seq in jobs],
        "since": since,
        "direct": DIRECT,
        "most": MOST_SOURCES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FUNNEL, values)
        found = cursor.fetchall()
    rows = [_row(*each) for is_total, *each in found if not is_total]
    [total] = [_row(*each) for is_total, *each in found if is_total]
    rows.sort(key=lambda row: (row.source is None, -row.applied, -row.viewed, row.source or ""))
    is_long = any(seq > share for _, seq in jobs)
    return Funnel(rows, total, since, is_cut or is_long)


def _row(source: str | None, viewed: int, _: str | None, *steps: float | None) -> SourceRow:
    applied, verified, seated, hired = (int(each or 0) for each in steps[:4])
    medians = (None if each is None else round(each, 3) for each in steps[4:])
    return SourceRow(source, viewed, applied, verified, seated, hired, *medians)
