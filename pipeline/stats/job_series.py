"""Figures of a job over time, from its log, for charts.

However long a log is, at most its last MOST_EVENTS rows are read. The result is small: lines have
at most BUCKETS points, curves 51.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from jobs.models import Job, JobStatus
from pipeline.database.instants import database_now
from pipeline.database.replica import reads_replica
from pipeline.line.removed_logs import refuse_removed_log_of
from pipeline.models import Event
from pipeline.selectors.past_states import past_seq_at

# How many of a log's last events are read at most: about half a second of work.
MOST_EVENTS = 50_000
BUCKETS = 200
STEPS = 50

# The upper bounds of the groups of times to the first offer, in seconds; the last group has none.
WAIT_EDGES = (60, 300, 900, 3_600, 14_400, 43_200, 86_400, 172_800, 604_800)


class Point(NamedTuple):
    """State of a job's seats and waitlist from a given time."""

    at: datetime
    # Seats in review or on offer.
    held: int
    waiting: int
    capacity: int


class SeatTime(NamedTuple):
    """Seat time by use, in seconds times seats."""

    review: float
    offered: float
    # Free while the job was open and nobody waited.
    nobody: float
    # Free while the job was open and everyone waiting was in a cool-down.
    cooldown: float
    # Free while the job was paused.
    paused: float


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of a job from `start` to `end`."""

    start: datetime
    end: datetime
    # Whether the span is shorter than requested because the log is too long.
    is_cut: bool
    events: int
    points: list[Point]
    # Seconds from an offer to its acknowledgement: quantiles in steps of 2 %, or empty.
    answers: list[float]
    answered: int
    missed: int
    # First offers by waiting time: a number for each group of WAIT_EDGES. A seat that was offered
    # on applying counts as 0 seconds.
    waits: list[int]
    # Missed deadlines by the hour of the day of the deadline.
    misses_by_hour: Mapping[int, int]
    seat_time: SeatTime


@reads_replica
def job_series_of(job: Job, *, back: timedelta | None, zone: str) -> Series:
    """Return a job's figures for the last `back`, or for all time, in three or four queries.

    `zone` names the time zone of the hours. Raises LogArchived.
    """
    refuse_removed_log_of(job)
    now = database_now(ahead_seconds=job.clock_offset_seconds)
    is_over = job.status == JobStatus.CLOSED and not (job.pending_count or job.waitlist_count)
    end = job.last_event_at if is_over else max(now, job.last_event_at)
    start = job.created_at if back is None else max(job.created_at, end - back)
    first = 1 if back is None else max(1, past_seq_at(job.id, start))
    oldest = job.seq - MOST_EVENTS + 1
    is_cut = first < oldest
    if is_cut:
        first = oldest
        start = Event.objects.values_list("at", flat=True).get(job_id=job.id, seq=first)
    return _read_job_series(job, _Span(first, start, end, is_cut), zone)


@dataclass(frozen=True, slots=True)
class _Span:
    first: int
    start: datetime
    end: datetime
    is_cut: bool


# All figures, as of one instant. The first row only gives the state at the start of the span: its
# event happened before. Its time counts from the span's start.
_READ = """
WITH told AS MATERIALIZED (
    SELECT seq, application_id, event, from_status, to_status, effective_at,
           greatest(at, %(start)s) AS at, at >= %(start)s AS inside,
           (data ->> 'active')::int AS active, (data ->> 'pending')::int AS pending,
           (data ->> 'waiting')::int AS waiting,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM pipeline_event WHERE job_id = %(job)s AND seq >= %(first)s
), base AS (
    SELECT max(seq) AS seq FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL AND seq < %(first)s
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) - CASE WHEN (SELECT seq FROM base) IS NULL
                                                   THEN 0 ELSE 1 END AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS capacity
    FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL
      AND seq >= coalesce((SELECT seq FROM base), 1)
), spans AS (
    SELECT told.*, status, capacity, greatest(0, capacity - active - pending) AS free,
           extract(epoch FROM lead(at, 1, %(end)s) OVER (ORDER BY seq) - at)::float8 AS seconds
    FROM told JOIN versions USING (version)
), points AS (
    SELECT DISTINCT ON (bucket) at, active + pending AS held, waiting, capacity FROM (
        SELECT *, floor(extract(epoch FROM at - %(start)s) * %(buckets)s
                        / greatest(1, extract(epoch FROM %(end)s - %(start)s))) AS bucket
        FROM spans
    ) placed ORDER BY bucket, seq DESC
), steps AS (
    SELECT told.event, extract(epoch FROM told.at - earlier.offered_at)::float8 AS answer_seconds,
           CASE WHEN told.event = 'APPLIED' THEN 0
                WHEN told.event = 'PROMOTED' AND earlier.offered_at IS NULL
                THEN extract(epoch FROM told.at - earlier.applied_at)::float8 END AS wait_seconds
    FROM told CROSS JOIN LATERAL (
        SELECT min(at) AS applied_at,
               max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
                               AND event <> 'DEADLINE_EXTENDED') AS offered_at
        FROM pipeline_event before
        WHERE before.application_id = told.application_id AND before.seq < told.seq
    ) earlier
    WHERE told.inside AND (
        told.event IN ('ACKNOWLEDGED', 'PROMOTED')
        OR (told.event = 'APPLIED' AND told.to_status = 'PENDING_ACKNOWLEDGMENT')
    )
), waits AS (
    SELECT width_bucket(wait_seconds, %(edges)s::float8[]) AS edge, count(*) AS n FROM steps
    WHERE wait_seconds IS NOT NULL GROUP BY edge
), hours AS (
    SELECT extract(hour FROM effective_at AT TIME ZONE %(zone)s)::int AS hour, count(*) AS n
    FROM told
    WHERE inside AND event IN ('DECAYED', 'LAPSED') AND from_status = 'PENDING_ACKNOWLEDGMENT'
    GROUP BY hour
)
SELECT (SELECT jsonb_agg(jsonb_build_array(at, held, waiting, capacity) ORDER BY at) FROM points),
       (SELECT to_jsonb(percentile_cont(%(shares)s::float8[])
                        WITHIN GROUP (ORDER BY answer_seconds))
        FROM steps WHERE event = 'ACKNOWLEDGED' AND answer_seconds > 0),
       (SELECT jsonb_object_agg(edge, n) FROM waits),
       (SELECT jsonb_object_agg(hour, n) FROM hours),
       count(*) FILTER (WHERE inside),
       count(*) FILTER (WHERE inside AND event = 'ACKNOWLEDGED'),
       count(*) FILTER (WHERE inside AND event IN ('DECAYED', 'LAPSED')
                        AND from_status = 'PENDING_ACKNOWLEDGMENT'),
       sum(seconds * active), sum(seconds * pending),
       sum(seconds * free) FILTER (WHERE status = 'OPEN' AND waiting = 0),
       sum(seconds * free) FILTER (WHERE status = 'OPEN' AND waiting > 0),
       sum(seconds * free) FILTER (WHERE status = 'PAUSED')
FROM spans
"""


def _read_job_series(job: Job, span: _Span, zone: str) -> Series:
    values: dict[str, Any] = {
        "job": job.id,
        "first": span.first,
        "start": span.start,
        "end": span.end,
        "zone": zone,
        "buckets": BUCKETS - 1,
        "edges": list(WAIT_EDGES),
        "shares": [step / STEPS for step in range(STEPS + 1)],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, values)
        points, answers, waits, hours, events, answered, missed, *times = cursor.fetchone()
    grouped = _series_value(waits, {})
    return Series(
        start=span.start,
        end=span.end,
        is_cut=span.is_cut,
        events=events,
        points=[Point(datetime.fromisoformat(at), *row) for at, *row in _series_value(points, [])],
        answers=_series_value(answers, []),
        answered=answered,
        missed=missed,
        waits=[grouped.get(str(edge), 0) for edge in range(len(WAIT_EDGES) + 1)],
        misses_by_hour={int(hour): n for hour, n in _series_value(hours, {}).items()},
        seat_time=SeatTime(*[seconds or 0.0 for seconds in times]),
    )


def _series_value(told: str | None, nothing: Any) -> Any:
    """Parse a jsonb value, which a raw cursor returns as text."""
    found = json.loads(told) if told else None
    return nothing if found is None else found
