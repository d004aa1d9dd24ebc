"""A job in numbers, from its log alone, for the summary and the figures page.

One statement reads the job's log once, so all numbers are of one snapshot. A number without data is
None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.core.cache import caches
from django.db import connection

from jobs.models import Job, JobStatus
from pipeline.database.replica import reads_replica
from pipeline.domain.contests import ContestAnswer
from pipeline.domain.errors import JobNotFound
from pipeline.domain.states import ActorKind, Outcome, Status
from pipeline.line import removed_logs
from pipeline.line.clock import read_company_clock
from pipeline.models import Contest, Event
from pipeline.selectors.exceptions import count_exceptions


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
        return compute_share(self.seated, self.applied)

    @property
    def seated_to_hired(self) -> float | None:
        """Return the share of those that were hired."""
        return compute_share(self.hired, self.seated)

    @property
    def applied_to_hired(self) -> float | None:
        """Return the share of the applications that were hired."""
        return compute_share(self.hired, self.applied)


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
        return compute_share(
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


def compute_share(part: int, whole: int) -> float | None:
    """Return a part of a whole, from 0 to 1, to four digits; None if the whole is 0."""
    return round(part / whole, 4) if whole else None


def _quantile_sql(column: str, source: str) -> str:
    """Return SQL for average, median and 90th percentile, rounded."""
    numbers = f"""
        round(avg({column}), 3)::float8 AS average,
        round(percentile_cont(0.5) WITHIN GROUP (ORDER BY {column})::numeric, 3)::float8 AS median,
        round(percentile_cont(0.9) WITHIN GROUP (ORDER BY {column})::numeric, 3)::float8 AS p90
    """
    return f"(SELECT to_jsonb(spread) FROM (SELECT {numbers} FROM {source}) spread)"  # noqa: S608


def _tally_sql(column: str) -> str:
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
    SELECT seq, application_id, event, from_status, to_status, outcome, at,
           (data ->> 'active')::int + (data ->> 'pending')::int AS held,
           (data ->> 'waiting')::int AS waiting, (data ->> 'hired')::int AS hired
    FROM pipeline_event WHERE job_id = %(job)s
), steps AS (
    SELECT application_id, seq, event, to_status, outcome, at,
           max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
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
                              OVER (ORDER BY seq) - at) AS seconds, held, waiting, hired,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM told
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS seats,
           (data ->> 'positions_to_fill')::int AS positions
    FROM pipeline_event WHERE job_id = %(job)s AND application_id IS NULL
), idle AS (
    SELECT sum(seconds * greatest(0, seats - held)) AS seconds,
           sum(seconds * greatest(0, seats - held)) FILTER (WHERE waiting > 0) AS with_people
    FROM spans JOIN versions USING (version)
    WHERE status = 'OPEN' AND hired IS DISTINCT FROM coalesce(positions, -1)
)
SELECT count(*), {_tally_sql("status")}, {_tally_sql("outcome")},
       {_quantile_sql("seconds", "people")},
       {_quantile_sql("seconds", "answers")},
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
def read_totals(job_id: UUID) -> JobTotals:
    """Return a job's figures, in one query. Raises JobNotFound, LogArchived."""
    with connection.cursor() as cursor:
        cursor.execute(_ADD_UP, {"job": job_id})
        events, *row = cursor.fetchone()
    if not events:  # a log starts with JOB_CREATED
        removed_logs.refuse(job_id)
        raise JobNotFound
    statuses, outcomes, to_promotion, to_acknowledge, acknowledged, decayed, lapsed = row[:7]
    applied, seated, hired, freed, open_seconds, idle, idle_with_people, now = row[7:]
    return JobTotals(
        by_status=_word_counts(Status, statuses),
        by_outcome=_word_counts(Outcome, outcomes),
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


def _word_counts(words: type[Status | Outcome], counted: str | None) -> dict[str, int]:
    found = json.loads(counted or "{}")  # a raw cursor returns jsonb as text
    return {word.value: found.get(word.value, 0) for word in words}


# Facts of a job for everyone: how often each event happened in its line, without personal data.


# A number below this could point at a person, so the page only says that it is smaller.
FEWEST_SHOWN = 5
# How many of a job's last events are counted, and for how long the result is kept.
MOST_EVENTS = 50_000
KEPT_SECONDS = 60


class ContestCounts(NamedTuple):
    """Numbers of people who asked the company to look again, and who got their place back.

    `overdue` counts open requests whose time to answer is over.
    """

    asked: int | None
    changed: int | None
    overdue: int | None


@dataclass(frozen=True, slots=True)
class PublicCounts:
    """Numbers of a job's last events. A number from 1 to FEWEST_SHOWN - 1 is None.

    `since` is the time of the first counted event. The keys of the tables are codes of reasons;
    removals without a reason have the key NONE. Exceptions are counted from the job's beginning,
    and their number is exact: whom they passed knows of them.
    """

    since: datetime
    events: int
    offered: int | None
    confirmed: int | None
    missed: int | None
    withdrawn: int | None
    removals: Mapping[str, int | None]
    given_back: Mapping[str, int | None]
    extended: int | None
    exceptions: int
    exceptions_by_reason: Mapping[str, int | None]
    contests: ContestCounts
    seats_changed: int
    reserve_changed: int
    rules_changed: int


_READ_FACTS = """
SELECT event, CASE WHEN event IN ('REMOVED', 'REINSTATED')
                   THEN coalesce(data ->> 'reason', 'NONE')
                   WHEN event = 'CONTEST_ANSWERED' THEN data ->> 'answer'
                   WHEN event = 'DEADLINE_EXTENDED' THEN actor_kind END AS reason,
       count(*)
FROM pipeline_event
WHERE job_id = %(job)s AND seq > %(after)s
  AND (event <> 'APPLIED' OR to_status = 'PENDING_ACKNOWLEDGMENT')
  AND (event <> 'LAPSED' OR from_status = 'PENDING_ACKNOWLEDGMENT')
GROUP BY 1, 2
"""


def read_public_facts(job: Job) -> PublicCounts:
    """Return the counts of a job's last MOST_EVENTS events, at most KEPT_SECONDS old.

    Raises LogArchived.
    """
    key = f"public_counts:{job.id}"
    known: PublicCounts | None = caches["local"].get(key)
    if known is not None:
        return known
    after = max(0, job.seq - MOST_EVENTS)
    with connection.cursor() as cursor:
        cursor.execute(_READ_FACTS, {"job": job.id, "after": after})
        rows = cursor.fetchall()
    first = Event.objects.filter(job_id=job.id, seq=after + 1).values_list("at", flat=True).first()
    if first is None:
        removed_logs.refuse(job.id)
    open_contests = Contest.objects.filter(job_id=job.id, answer="")
    now = read_company_clock(job.company_id).now
    counts = {(event, reason): count for event, reason, count in rows}

    def public_total(*events: str) -> int:
        return sum(count for (event, _), count in counts.items() if event in events)

    def public_facts_by_reason(kind: str) -> dict[str, int | None]:
        found = {reason: count for (event, reason), count in counts.items() if event == kind}
        return {reason: shown_fact(count) for reason, count in sorted(found.items())}

    known = PublicCounts(
        since=first or job.created_at,
        events=job.seq - after,
        offered=shown_fact(public_total("PROMOTED", "APPLIED")),
        confirmed=shown_fact(public_total("ACKNOWLEDGED")),
        missed=shown_fact(public_total("DECAYED", "LAPSED")),
        withdrawn=shown_fact(public_total("WITHDRAWN")),
        removals=public_facts_by_reason("REMOVED"),
        given_back=public_facts_by_reason("REINSTATED"),
        extended=shown_fact(counts.get(("DEADLINE_EXTENDED", ActorKind.COMPANY), 0)),
        exceptions=job.exception_count,
        exceptions_by_reason={code: shown_fact(n) for code, n in count_exceptions(job).items()},
        contests=ContestCounts(
            shown_fact(public_total("CONTESTED")),
            shown_fact(counts.get(("CONTEST_ANSWERED", ContestAnswer.CHANGED), 0)),
            shown_fact(open_contests.filter(answer_by__lte=now).count()),
        ),
        seats_changed=public_total("CAPACITY_CHANGED"),
        reserve_changed=public_total("RESERVE_CHANGED"),
        rules_changed=public_total("POLICY_CHANGED"),
    )
    caches["local"].set(key, known, KEPT_SECONDS)
    return known


def shown_fact(count: int) -> int | None:
    """Return a count as the public sees it: None where it could identify someone."""
    return count if count == 0 or count >= FEWEST_SHOWN else None


# The state of all lines but those of sandboxes in a few numbers, for monitoring.


# All numbers, from one pass over the jobs' hot rows. Reads at most as many waiting people as free
# seats.
_READ_GAUGES = """
WITH job AS MATERIALIZED (
    SELECT id, status, seq, active_count, pending_count, waitlist_count, head_ticket, next_due_at,
           CASE WHEN hired_count = positions_to_fill THEN 0
                ELSE greatest(0, least(capacity - active_count - pending_count,
                    capacity - reserved_seats - active_count - pending_count + CASE
                        WHEN reserved_seats > 0 THEN reserved_count ELSE 0 END)) END AS seats_free
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
        cursor.execute(_READ_GAUGES)
        row = cursor.fetchone()
    live = (Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT, Status.ACTIVE)
    return Vitals(
        {status.value: count for status, count in zip(JobStatus, row[:4], strict=True)},
        {status.value: count for status, count in zip(live, row[4:7], strict=True)},
        *row[7:],
    )
