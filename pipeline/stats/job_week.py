"""Figures of a job in one week, from its log, for the weekly report.

The database reads the week's rows once, and the result is small however long the log is. A week is
half open: it includes its first instant and excludes its end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from pipeline.selectors.past_states import past_seq_at

DAYS = 7
# The most points in the lines of a week: one per hour.
POINTS = DAYS * 24
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Week:
    """A week from Monday to Monday, midnight to midnight in a time zone."""

    monday: date
    zone: str

    @property
    def days(self) -> list[datetime]:
        """Return eight times: the start of each day, and the end of the last one."""
        place = ZoneInfo(self.zone)
        return [
            datetime.combine(self.monday + timedelta(days=day), time.min, place)
            for day in range(DAYS + 1)
        ]

    @property
    def start(self) -> datetime:
        """Return the week's first instant."""
        return self.days[0]

    @property
    def end(self) -> datetime:
        """Return the first instant after the week."""
        return self.days[-1]

    @property
    def last_day(self) -> date:
        """Return the week's Sunday."""
        return self.monday + timedelta(days=DAYS - 1)

    @property
    def before(self) -> Week:
        """Return the week before."""
        return Week(self.monday - timedelta(days=DAYS), self.zone)

    @classmethod
    def last_whole(cls, now: datetime, zone: str) -> Week:
        """Return the last week that had ended at a given time."""
        today = now.astimezone(ZoneInfo(zone)).date()
        return cls(today - timedelta(days=today.weekday() + DAYS), zone)


# All figures of a week, as of one instant. The first row may be from before the week: it only gives
# the state at its start, and its time counts from the week's start. Seats of a closed job no longer
# count.
_READ = """
WITH told AS MATERIALIZED (
    SELECT seq, application_id, event, from_status, to_status, outcome,
           greatest(at, %(start)s) AS at, at >= %(start)s AS inside,
           (data ->> 'active')::int AS active, (data ->> 'pending')::int AS pending,
           (data ->> 'waiting')::int AS waiting,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM pipeline_event WHERE job_id = %(job)s AND seq BETWEEN %(first)s AND %(last)s
), base AS (
    SELECT max(seq) AS seq FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL AND seq < %(first)s
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) - CASE WHEN (SELECT seq FROM base) IS NULL
                                                   THEN 0 ELSE 1 END AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS capacity
    FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL
      AND seq >= coalesce((SELECT seq FROM base), 1) AND seq <= %(last)s
), spans AS (
    SELECT told.*, status, capacity, greatest(0, capacity - active - pending) AS free,
           status IN ('OPEN', 'PAUSED') AS runs,
           extract(epoch FROM lead(at, 1, %(end)s) OVER (ORDER BY seq) - at)::float8 AS seconds
    FROM told JOIN versions USING (version)
), points AS (
    SELECT DISTINCT ON (hour) at, active + pending AS held, waiting, capacity FROM (
        SELECT *, floor(extract(epoch FROM at - %(start)s) / 3600) AS hour FROM spans
    ) placed ORDER BY hour, seq DESC
), happened AS (
    SELECT told.*, width_bucket(at, %(days)s::timestamptz[]) - 1 AS day FROM told WHERE inside
), days AS (
    SELECT day, count(*) FILTER (WHERE event = 'APPLIED') AS applied,
           count(*) FILTER (WHERE event = 'PROMOTED' OR event = 'APPLIED'
                            AND to_status = 'PENDING_ACKNOWLEDGMENT') AS offered,
           count(*) FILTER (WHERE event = 'ACKNOWLEDGED') AS confirmed,
           count(*) FILTER (WHERE event IN ('DECAYED', 'LAPSED')
                            AND from_status = 'PENDING_ACKNOWLEDGMENT') AS missed
    FROM happened GROUP BY day
), decided AS (
    SELECT outcome, count(*) AS n FROM happened WHERE event = 'REMOVED' GROUP BY outcome
), steps AS (
    SELECT event, extract(epoch FROM happened.at - earlier.offered_at)::float8 AS answer_seconds,
           CASE WHEN event = 'APPLIED' THEN 0
                WHEN event = 'PROMOTED' AND earlier.offered_at IS NULL
                THEN extract(epoch FROM happened.at - earlier.applied_at)::float8 END
           AS wait_seconds
    FROM happened CROSS JOIN LATERAL (
        SELECT min(at) AS applied_at,
               max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
                               AND event <> 'DEADLINE_EXTENDED') AS offered_at
        FROM pipeline_event before
        WHERE before.application_id = happened.application_id AND before.seq < happened.seq
    ) earlier
    WHERE event IN ('ACKNOWLEDGED', 'PROMOTED')
       OR (event = 'APPLIED' AND to_status = 'PENDING_ACKNOWLEDGMENT')
), ends AS (
    SELECT (array_agg(waiting ORDER BY seq) FILTER (WHERE NOT inside))[1] AS waiting_at_start,
           (array_agg(active + pending ORDER BY seq) FILTER (WHERE NOT inside))[1]
           AS held_at_start,
           (array_agg(waiting ORDER BY seq DESC))[1] AS waiting_at_end,
           (array_agg(active + pending ORDER BY seq DESC))[1] AS held_at_end,
           (array_agg(capacity ORDER BY seq DESC))[1] AS seats_at_end,
           (array_agg(status ORDER BY seq DESC))[1] AS status_at_end,
           min(at) AS counted_from
    FROM spans
)
SELECT jsonb_build_object(
    'counted_from', (SELECT counted_from FROM ends),
    'events', (SELECT count(*) FROM happened),
    'applied', (SELECT count(*) FROM happened WHERE event = 'APPLIED'),
    'seated', (SELECT count(*) FROM happened WHERE event = 'APPLIED' AND to_status = 'ACTIVE'),
    'offered', (SELECT coalesce(sum(offered), 0) FROM days),
    'promoted', (SELECT count(*) FROM happened WHERE event = 'PROMOTED'),
    'confirmed', (SELECT count(*) FROM happened WHERE event = 'ACKNOWLEDGED'),
    'missed', (SELECT coalesce(sum(missed), 0) FROM days),
    'lapsed', (SELECT count(*) FROM happened
               WHERE event = 'LAPSED' AND from_status = 'PENDING_ACKNOWLEDGMENT'),
    'withdrawn', (SELECT count(*) FROM happened WHERE event = 'WITHDRAWN'),
    'closed_out', (SELECT count(*) FROM happened WHERE event = 'CLOSED_OUT'),
    'decided', (SELECT coalesce(jsonb_object_agg(outcome, n), '{}') FROM decided),
    'waiting_at_start', (SELECT coalesce(waiting_at_start, 0) FROM ends),
    'waiting_at_end', (SELECT waiting_at_end FROM ends),
    'held_at_start', (SELECT coalesce(held_at_start, 0) FROM ends),
    'held_at_end', (SELECT held_at_end FROM ends),
    'seats_at_end', (SELECT seats_at_end FROM ends),
    'status_at_end', (SELECT status_at_end FROM ends),
    'confirm_seconds', (
        SELECT jsonb_build_object('count', count(*),
            'median', percentile_cont(0.5) WITHIN GROUP (ORDER BY answer_seconds),
            'p90', percentile_cont(0.9) WITHIN GROUP (ORDER BY answer_seconds))
        FROM steps WHERE event = 'ACKNOWLEDGED' AND answer_seconds > 0),
    'wait_seconds', (
        SELECT jsonb_build_object('count', count(*),
            'median', percentile_cont(0.5) WITHIN GROUP (ORDER BY wait_seconds),
            'p90', percentile_cont(0.9) WITHIN GROUP (ORDER BY wait_seconds))
        FROM steps WHERE wait_seconds IS NOT NULL),
    'seat_seconds', (
        SELECT jsonb_build_object(
            'review', coalesce(sum(seconds * active) FILTER (WHERE runs), 0),
            'offered', coalesce(sum(seconds * pending) FILTER (WHERE runs), 0),
            'nobody', coalesce(sum(seconds * free)
                               FILTER (WHERE status = 'OPEN' AND waiting = 0), 0),
            'cooldown', coalesce(sum(seconds * free)
                                 FILTER (WHERE status = 'OPEN' AND waiting > 0), 0),
            'paused', coalesce(sum(seconds * free) FILTER (WHERE status = 'PAUSED'), 0))
        FROM spans),
    'days', (SELECT jsonb_object_agg(day, jsonb_build_array(applied, offered, confirmed, missed))
             FROM days),
    'points', (SELECT jsonb_agg(jsonb_build_array(at, held, waiting, capacity) ORDER BY at)
               FROM points)
)
"""


def week_of_job(job_id: UUID, week: Week) -> dict[str, Any] | None:
    """Return a job's figures for a week, as JSON values, in three queries.

    Counts are of events. Times are in seconds, or None without data; `seat_seconds` are seconds
    times seats. `days` has [applied, offered, confirmed, missed] for each of the seven; `points`
    has [time, seats held, people waiting, seats], each valid from its time. Returns None if the job
    was created after that week. Raises FutureMoment for a week that has not ended.
    """
    last = past_seq_at(job_id, week.end - _TICK)
    if not last:
        return None
    first = max(1, past_seq_at(job_id, week.start - _TICK))
    values: dict[str, Any] = {
        "job": job_id,
        "first": first,
        "last": last,
        "start": week.start,
        "end": week.end,
        "days": week.days[:DAYS],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, values)
        found = json.loads(cursor.fetchone()[0])  # a raw cursor gives jsonb as text
    by_day = found["days"] or {}
    found["days"] = [by_day.get(str(day), [0, 0, 0, 0]) for day in range(DAYS)]
    return found
