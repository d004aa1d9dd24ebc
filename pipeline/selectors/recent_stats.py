"""Recent events of jobs, read in bounded time however long their logs are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.models import Event

# How many of a job's last promotions, or last acknowledgements, a median uses.
WEIGHED = 200

# With fewer, a median is not typical.
FEWEST_SAMPLES = 5

# The limit up to which misses are counted.
MOST_MISSES = 1_000


@dataclass(frozen=True, slots=True)
class RecentFacts:
    """Recent durations in seconds; None if there were too few events."""

    # From applying to the first offer of a seat, for people who waited and had never missed.
    median_wait_seconds: float | None
    # From the offer of a seat to its acknowledgement.
    median_answer_seconds: float | None


NOTHING_YET = RecentFacts(None, None)

# Both medians of each job, from the index of recent events. An application is acknowledged at most
# once, so its row still knows when the acknowledged seat was offered.
_MEDIANS = """
SELECT job.id, (
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM last.at - person.applied_at)::float8)
    FROM (
        SELECT at, application_id, data FROM pipeline_event
        WHERE job_id = job.id AND event = 'PROMOTED' ORDER BY at DESC LIMIT %(most)s
    ) last
    JOIN pipeline_application person ON person.id = last.application_id
    WHERE last.data ->> 'decay_count' = '0'
    HAVING count(*) >= %(fewest)s
), (
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM last.at - person.promoted_at)::float8)
    FROM (
        SELECT at, application_id FROM pipeline_event
        WHERE job_id = job.id AND event = 'ACKNOWLEDGED' ORDER BY at DESC LIMIT %(most)s
    ) last
    JOIN pipeline_application person ON person.id = last.application_id
    WHERE last.at > person.promoted_at  -- not those in advance
    HAVING count(*) >= %(fewest)s
)
FROM unnest(%(jobs)s::uuid[]) job(id)
"""


def recent_waits(job_ids: Collection[UUID]) -> dict[UUID, RecentFacts]:
    """Return each job's medians over its last 200 events of a kind, in one query.

    A median of fewer than FEWEST_SAMPLES events is None.
    """
    if not job_ids:
        return {}
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"jobs": list(job_ids), "most": WEIGHED, "fewest": FEWEST_SAMPLES}
        cursor.execute(_MEDIANS, values)
        return {job_id: RecentFacts(wait, answer) for job_id, wait, answer in cursor.fetchall()}


@dataclass(frozen=True, slots=True)
class RecentActivity:
    """Recent facts of a job that may need attention."""

    # Deadlines missed within the requested span, counted up to 1,000.
    misses: int
    # The earliest open deadline; in the past only until it is settled.
    first_deadline: datetime | None
    # When someone was last offered a seat from the waitlist.
    last_promotion: datetime | None


# The time by the job's own clock: ahead of the database's only in a sandbox.
_NOW = """statement_timestamp() + make_interval(
    secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = job.id))"""

# Each sub-select is a bounded scan of an index that begins with the job.
_ACTIVITY = f"""
SELECT job.id, (
    SELECT count(*) FROM (
        (SELECT FROM pipeline_event WHERE job_id = job.id AND event = 'DECAYED'
            AND at > {_NOW} - make_interval(secs => %(span)s) LIMIT %(most)s)
        UNION ALL
        (SELECT FROM pipeline_event WHERE job_id = job.id AND event = 'LAPSED'
            AND from_status = 'PENDING_ACKNOWLEDGMENT'
            AND at > {_NOW} - make_interval(secs => %(span)s) LIMIT %(most)s)
    ) missed
), (
    SELECT min(acknowledge_by) FROM pipeline_application
    WHERE job_id = job.id AND status = 'PENDING_ACKNOWLEDGMENT'
), (
    SELECT max(at) FROM pipeline_event WHERE job_id = job.id AND event = 'PROMOTED'
)
FROM unnest(%(jobs)s::uuid[]) job(id)
"""  # noqa: S608


class Miss(NamedTuple):
    """Deadline that a person missed, and whether the miss ended the application."""

    application_id: UUID
    name: str
    at: datetime
    is_last: bool


_MISSED = """(
        SELECT * FROM pipeline_event WHERE job_id = %(job)s AND event = '{event}'
          AND from_status = 'PENDING_ACKNOWLEDGMENT'
          AND at > {now} - make_interval(secs => %(span)s)
        ORDER BY at DESC LIMIT %(most)s
    )"""
_NOW_IN_JOB = _NOW.replace("job.id", "%(job)s")

_MISSES = f"""
SELECT event.application_id, person.name, event.effective_at, event.event = 'LAPSED'
FROM (
    {_MISSED.format(event="DECAYED", now=_NOW_IN_JOB)}
    UNION ALL
    {_MISSED.format(event="LAPSED", now=_NOW_IN_JOB)}
) event JOIN pipeline_application person ON person.id = event.application_id
ORDER BY event.at DESC, event.seq DESC LIMIT %(most)s
"""  # noqa: S608  constants of this module


def recent_misses(job_id: UUID, span: timedelta, *, limit: int) -> list[Miss]:
    """Return a job's last missed deadlines within the span, latest first, in one query."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "span": span.total_seconds(), "most": limit}
        cursor.execute(_MISSES, values)
        return [Miss(*row) for row in cursor.fetchall()]


# The names of people are read with their events, so that a feed costs one round trip.
_LATEST = """
SELECT event.*, coalesce(person.name, '') AS name
FROM (
    SELECT * FROM pipeline_event WHERE job_id = %(job)s ORDER BY seq DESC LIMIT %(most)s
) event LEFT JOIN pipeline_application person ON person.id = event.application_id
ORDER BY event.seq DESC
"""


def recent_events(job_id: UUID, *, limit: int) -> list[tuple[Event, str]]:
    """Return a job's last events, latest first, each with the person's name, in one query.

    The name is empty for an event of the job itself, and of a person who was erased.
    """
    rows = Event.objects.raw(_LATEST, {"job": job_id, "most": limit})
    return [(event, event.name) for event in rows]  # type: ignore[attr-defined]  # of _LATEST


def recent_activity(job_ids: Collection[UUID], span: timedelta) -> dict[UUID, RecentActivity]:
    """Return the recent facts of each job, in one query."""
    if not job_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            _ACTIVITY, {"jobs": list(job_ids), "span": span.total_seconds(), "most": MOST_MISSES}
        )
        return {
            job_id: RecentActivity(min(misses, MOST_MISSES), first, last)
            for job_id, misses, first, last in cursor.fetchall()
        }
