"""A job in numbers, from its log alone, for the summary and the figures page.

One statement reads the job's log once, so all numbers are of one snapshot. A number without data is
None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from pipeline.database.replica import reads_replica
from pipeline.domain.errors import JobNotFound
from pipeline.domain.states import Outcome, Status
from pipeline.line.removed_logs import refuse_removed_log


@dataclass(frozen=True, slots=True)
class Durations:
    """Statistics of a duration, in seconds to the millisecond; None if it never occurred."""

    average: float | None
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class ConversionTotals:
    """Numbers of applications that reached each stage. A share of nothing is None."""

    # Applications: APPLIED events.
    applied: int
    # Those that were ever ACTIVE.
    seated: int
    # Those that ended as HIRED.
    hired: int

    @property
    def applied_to_seated(self) -> float | None:
        """Return the share of the applications that were ever ACTIVE."""
        return share_in_job_totals(self.seated, self.applied)

    @property
    def seated_to_hired(self) -> float | None:
        """Return the share of those that were hired."""
        return share_in_job_totals(self.hired, self.seated)

    @property
    def applied_to_hired(self) -> float | None:
        """Return the share of the applications that were hired."""
        return share_in_job_totals(self.hired, self.applied)


@dataclass(frozen=True, slots=True)
class JobTotals:
    """A job in numbers, as of `now`, the database's time."""

    # The number of applications in each status, including zeros.
    by_status: Mapping[str, int]
    # The number of INACTIVE applications with each outcome, including zeros.
    by_outcome: Mapping[str, int]
    # From APPLIED to the first PROMOTED, for each application that was ever promoted.
    to_promotion: Durations
    # From the offer (PROMOTED, or APPLIED to PENDING_ACKNOWLEDGMENT) to its ACKNOWLEDGED.
    to_acknowledge: Durations
    # ACKNOWLEDGED events.
    acknowledged: int
    # DECAYED events: missed deadlines after which the person kept a place in line.
    decay_events: int
    # LAPSED events after an offer: one missed deadline too many. Not those of unverified people.
    lapse_events: int
    conversion: ConversionTotals
    # Events that freed a seat: decays, lapses, withdrawals, decisions.
    seats_freed: int
    # From the first opening to now, or for a closed job to its last event; None for a draft.
    open_seconds: float | None
    # Seconds times seats in which the job was OPEN and the seat was free.
    seat_idle_seconds: int
    # The part of these in which people waited, all of them in a cool-down.
    seat_idle_while_waiting_seconds: int
    now: datetime

    @property
    def acknowledgment_rate(self) -> float | None:
        """Return the share of the completed offers that were acknowledged, not missed.

        Offers that ended otherwise (withdrawn, decided, closed out) or still run do not count.
        """
        return share_in_job_totals(
            self.acknowledged, self.acknowledged + self.decay_events + self.lapse_events
        )

    @property
    def churn(self) -> float | None:
        """Return the seats freed per week since the first opening.

        The first week counts as a whole one, even if it is unfinished. None for a job that was
        never opened.
        """
        if self.open_seconds is None:
            return None
        return round(self.seats_freed / max(self.open_seconds / WEEK_SECONDS, 1.0), 3)


WEEK_SECONDS = 7 * 24 * 3_600


def share_in_job_totals(part: int, whole: int) -> float | None:
    """Return a part of a whole, from 0 to 1, to four digits; None if the whole is 0."""
    return round(part / whole, 4) if whole else None


def _quantiles_in_job_totals(column: str, source: str) -> str:
    """Return SQL for average, median and 90th percentile, rounded."""
    numbers = f"""
        round(avg({column}), 3)::float8 AS average,
        round(percentile_cont(0.5) WITHIN GROUP (ORDER BY {column})::numeric, 3)::float8 AS median,
        round(percentile_cont(0.9) WITHIN GROUP (ORDER BY {column})::numeric, 3)::float8 AS p90
    """
    return f"(SELECT to_jsonb(spread) FROM (SELECT {numbers} FROM {source}) spread)"  # noqa: S608


def _tally_in_job_totals(column: str) -> str:
    counted = f"SELECT {column}, count(*) AS n FROM people GROUP BY {column}"  # noqa: S608
    return f"(SELECT jsonb_object_agg({column}, n) FROM ({counted}) c WHERE {column} IS NOT NULL)"  # noqa: S608


# All figures of a job. A job event's data gives status and seats from there on; every event's data
# gives the numbers of people in seats and waiting after it.
_ADD_UP = f"""
WITH clock AS MATERIALIZED (
    SELECT statement_timestamp() + make_interval(secs => coalesce(max(clock_offset_seconds), 0))
        AS now
    FROM jobs_job WHERE id = %(job)s
), told AS MATERIALIZED (
    SELECT seq, application_id, event, from_status, to_status, outcome, at, data
    FROM pipeline_event WHERE job_id = %(job)s
), steps AS (
    SELECT *, max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
                              AND event <> 'DEADLINE_EXTENDED') OVER earlier AS offered_at
    FROM told WHERE application_id IS NOT NULL
    WINDOW earlier AS (PARTITION BY application_id ORDER BY seq)
), answers AS (
    SELECT extract(epoch FROM at - offered_at) AS seconds
    FROM steps WHERE event = 'ACKNOWLEDGED' AND at > offered_at  -- not those in advance
), people AS (
    SELECT extract(epoch FROM min(at) FILTER (WHERE event = 'PROMOTED') - min(at)) AS seconds,
           bool_or(to_status = 'ACTIVE') AS seated,
           (array_agg(to_status ORDER BY seq DESC))[1] AS status,
           (array_agg(outcome ORDER BY seq DESC))[1] AS outcome
    FROM steps GROUP BY application_id
), spans AS (
    SELECT extract(epoch FROM lead(at, 1, greatest(at, (SELECT now FROM clock)))
                              OVER (ORDER BY seq) - at) AS seconds,
           (data ->> 'active')::int + (data ->> 'pending')::int AS held,
           (data ->> 'waiting')::int AS waiting,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM told
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS seats
    FROM told WHERE application_id IS NULL
), idle AS (
    SELECT sum(seconds * greatest(0, seats - held)) AS seconds,
           sum(seconds * greatest(0, seats - held)) FILTER (WHERE waiting > 0) AS with_people
    FROM spans JOIN versions USING (version) WHERE status = 'OPEN'
)
SELECT count(*), {_tally_in_job_totals("status")}, {_tally_in_job_totals("outcome")},
       {_quantiles_in_job_totals("seconds", "people")},
       {_quantiles_in_job_totals("seconds", "answers")},
       count(*) FILTER (WHERE event = 'ACKNOWLEDGED'),
       count(*) FILTER (WHERE event = 'DECAYED'),
       count(*) FILTER (WHERE event = 'LAPSED' AND from_status = 'PENDING_ACKNOWLEDGMENT'),
       count(*) FILTER (WHERE event = 'APPLIED'),
       (SELECT count(*) FROM people WHERE seated),
       count(*) FILTER (WHERE outcome = 'HIRED'),
       count(*) FILTER (WHERE from_status IN ('ACTIVE', 'PENDING_ACKNOWLEDGMENT')
                        AND to_status IN ('WAITLIST', 'INACTIVE')),
       extract(epoch FROM CASE WHEN bool_or(event = 'JOB_CLOSED') THEN max(at)
                               ELSE (SELECT now FROM clock) END
                          - min(at) FILTER (WHERE event = 'JOB_OPENED'))::float8,
       (SELECT coalesce(round(seconds), 0)::bigint FROM idle),
       (SELECT coalesce(round(with_people), 0)::bigint FROM idle),
       (SELECT now FROM clock)
FROM told
"""  # noqa: S608


@reads_replica
def totals_of_job(job_id: UUID) -> JobTotals:
    """Return a job's figures, in one query. Raises JobNotFound, LogArchived."""
    with connection.cursor() as cursor:
        cursor.execute(_ADD_UP, {"job": job_id})
        events, *row = cursor.fetchone()
    if not events:  # a log starts with JOB_CREATED
        refuse_removed_log(job_id)
        raise JobNotFound
    statuses, outcomes, to_promotion, to_acknowledge, acknowledged, decayed, lapsed = row[:7]
    applied, seated, hired, freed, open_seconds, idle, idle_with_people, now = row[7:]
    return JobTotals(
        by_status=_job_totals_by_word(Status, statuses),
        by_outcome=_job_totals_by_word(Outcome, outcomes),
        to_promotion=Durations(**json.loads(to_promotion)),
        to_acknowledge=Durations(**json.loads(to_acknowledge)),
        acknowledged=acknowledged,
        decay_events=decayed,
        lapse_events=lapsed,
        conversion=ConversionTotals(applied, seated, hired),
        seats_freed=freed,
        open_seconds=open_seconds,
        seat_idle_seconds=idle,
        seat_idle_while_waiting_seconds=idle_with_people,
        now=now,
    )


def _job_totals_by_word(words: type[Status | Outcome], counted: str | None) -> dict[str, int]:
    found = json.loads(counted or "{}")  # a raw cursor returns jsonb as text
    return {word.value: found.get(word.value, 0) for word in words}
