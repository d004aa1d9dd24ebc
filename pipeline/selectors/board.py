"""Reads of a job's line for its company's board, bounded however long the line is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, Q

from jobs.models import Job
from pipeline.database.instants import snapshot
from pipeline.database.replica import reads_replica
from pipeline.domain.errors import JobNotFound
from pipeline.models import Application
from pipeline.selectors import applications
from pipeline.selectors.ageing import ReviewAge, ReviewLoad, read_review_loads
from pipeline.selectors.applications import (
    BEFORE_THE_FIRST,
    SEEN_UNPLACED,
    SeenApplication,
    read_front,
    read_queue,
)
from pipeline.selectors.jobs import (
    FEWEST_SAMPLES,
    MEDIAN_WAIT,
    WEIGHED,
    WHOLE_JOB,
    RecentActivity,
    read_job,
    recent_activity,
)
from pipeline.selectors.pages import Page
from pipeline.selectors.review import DECISIONS_STAMP
from pipeline.selectors.system import FRESH
from pipeline.wording.status import PromotionFacts

SEATS_SHOWN, WAITING_SHOWN = 60, 50
BOARD_MISSES_SPAN = timedelta(hours=24)
WEEK, TREND_STEPS = timedelta(days=7), 7
# How many people in line are searched for eligible ones when a page names who is next.
LOOKED_AHEAD = 200

_LOWEST, _HIGHEST = UUID(int=0), UUID(int=2**128 - 1)


class SeatPlace(NamedTuple):
    """Place in the list of seats: after this deadline if pending.

    If not pending, `moment` is the start of review.
    """

    pending: bool
    moment: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Board:
    """A job with the requested pages of its seats and waitlist, as of one instant."""

    job: Job
    seats: Page[SeenApplication]
    waitlist: Page[SeenApplication]
    activity: RecentActivity
    facts: PromotionFacts
    # The first people who could be promoted, in order: at most one more than there are free seats.
    next_names: list[str]
    trend: Trend | None  # of a job that is not closed, once it was opened

    @property
    def now(self) -> datetime:
        """Return the database's time."""
        return self.facts.now


@reads_replica
def read_board(
    job_id: UUID,
    *,
    seats_after: SeatPlace | None = None,
    waiting_after: tuple[int, int] = BEFORE_THE_FIRST,
    worker: DecayWorkerStatus | None = None,
) -> Board:
    """Return the board's data in seven queries, or six if the `worker` has been read before.

    One more tells who is next, where the shown page of the waitlist does not.

    Misses are those of BOARD_MISSES_SPAN. Raises JobNotFound.
    """
    with snapshot():
        job = read_job(job_id)
        activity = recent_activity([job_id], BOARD_MISSES_SPAN)[job_id]
        facts = _promotion_facts(job, activity, worker or read_decay_worker())
        waitlist = read_queue(job_id, after=waiting_after, limit=WAITING_SHOWN)
        most = min(job.seats_free + 1, LOOKED_AHEAD)
        next_names = _find_next_names(waitlist, facts.now, most)
        if waiting_after != BEFORE_THE_FIRST or (waitlist.more and len(next_names) < most):
            next_names = read_next_names(job_id, most=most)
        return Board(
            job=job,
            seats=read_seats(job_id, after=seats_after, limit=SEATS_SHOWN),
            waitlist=waitlist,
            activity=activity,
            facts=facts,
            next_names=next_names,
            trend=read_trend(job, facts.now) if job.opened_at and not job.closed_at else None,
        )


class Trend(NamedTuple):
    """People who waited in a job's line, at equal steps from a time until now, and usual times.

    The times are medians in seconds, None of too few people: from applying to the first offer, of
    people who waited and had never missed; and in review, of the last on whom the company decided.
    """

    since: datetime
    waiting: list[int]
    wait_seconds: float | None
    review_seconds: float | None


# The state after the last event at each moment: `at` never decreases, so a binary search finds it.
_TREND = f"""
WITH RECURSIVE search AS (
    SELECT moment.at AS as_of, 0::bigint AS low, %(seq)s::bigint AS high
    FROM unnest(%(moments)s::timestamptz[]) moment (at)
    UNION ALL
    SELECT as_of, CASE WHEN later THEN low ELSE middle END,
           CASE WHEN later THEN middle - 1 ELSE high END
    FROM (
        SELECT as_of, low, high, (low + high + 1) / 2 AS middle,
               (SELECT at FROM pipeline_event
                WHERE job_id = %(job)s AND seq = (search.low + search.high + 1) / 2) > as_of
               AS later
        FROM search WHERE low < high
    ) step
), waiting AS (
    SELECT as_of, coalesce((event.data ->> 'waiting')::int, 0)
                  - coalesce((event.data ->> 'unverified')::int, 0) AS people
    FROM search LEFT JOIN pipeline_event event ON event.job_id = %(job)s AND event.seq = low
    WHERE low >= high
)
SELECT (SELECT array_agg(people ORDER BY as_of) FROM waiting), {MEDIAN_WAIT}, (
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM decided.at - seated.at)::float8)
    FROM (
        SELECT application_id, seq, at FROM pipeline_event
        WHERE job_id = %(job)s AND event = 'REMOVED' AND from_status = 'ACTIVE'
        ORDER BY at DESC LIMIT %(most)s
    ) decided CROSS JOIN LATERAL (
        SELECT at FROM pipeline_event
        WHERE application_id = decided.application_id AND to_status = 'ACTIVE'
          AND seq < decided.seq
        ORDER BY seq DESC LIMIT 1
    ) seated
    HAVING count(*) >= %(fewest)s
)
FROM jobs_job job WHERE job.id = %(job)s
"""  # noqa: S608  constants


def read_trend(job: Job, now: datetime) -> Trend:
    """Return how many people waited over the last week, or since the job was made; one query."""
    since = max(job.created_at, now - WEEK)
    moments = [since + (now - since) * step / TREND_STEPS for step in range(TREND_STEPS + 1)]
    values: dict[str, Any] = {"job": job.id, "seq": job.seq, "moments": moments}
    with connection.cursor() as cursor:
        cursor.execute(_TREND, values | {"most": WEIGHED, "fewest": FEWEST_SAMPLES})
        return Trend(since, *cursor.fetchone())


# A page of people with a seat: first those who must acknowledge, by deadline; then the others,
# longest first.
SEATS = """
WITH page AS MATERIALIZED (
    SELECT * FROM (
        (SELECT *, 0 AS rank, acknowledge_by AS moment FROM pipeline_application
         WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
           AND (acknowledge_by, id) > (%(pending_at)s::timestamptz, %(pending_id)s)
         ORDER BY acknowledge_by, id LIMIT %(most)s)
        UNION ALL
        (SELECT *, 1, status_since FROM pipeline_application
         WHERE job_id = %(job)s AND status = 'ACTIVE'
           AND (status_since, id) > (%(active_at)s::timestamptz, %(active_id)s)
         ORDER BY status_since, id LIMIT %(most)s)
    ) seated ORDER BY rank, moment, id LIMIT %(most)s
)
{seen} ORDER BY seen.rank, seen.moment, seen.id
""".format(seen=SEEN_UNPLACED.format(source="page"))  # noqa: S608


def read_seats(job_id: UUID, *, after: SeatPlace | None, limit: int) -> Page[SeenApplication]:
    """Return the holders of seats: pending ones by deadline, then active ones, longest first.

    This takes one query.
    """
    pending, active = ("-infinity", _LOWEST), ("-infinity", _LOWEST)
    if after and after.pending:
        pending = (after.moment.isoformat(), after.id)
    elif after:
        pending, active = ("infinity", _HIGHEST), (after.moment.isoformat(), after.id)
    rows = applications.read_page(
        SEATS,
        job=job_id,
        pending_at=pending[0],
        pending_id=pending[1],
        active_at=active[0],
        active_id=active[1],
        most=limit + 1,
    )
    return Page.cut(rows, limit)


def seat_place(seen: SeenApplication) -> SeatPlace:
    """Return the place of an application in the list of seats."""
    application = seen.application
    deadline = application.acknowledge_by
    return SeatPlace(deadline is not None, deadline or application.status_since, application.id)


class DecayWorkerStatus(NamedTuple):
    """Status of the decay worker, the database's time, and the stamp of a job's decisions.

    `form_revision`: that of its questions, if some changes to them are not published.
    """

    seen: datetime | None
    alive: bool
    now: datetime
    decisions: str = ""
    form_revision: int | None = None


_WORKER = f"""
SELECT beat.completed_at,
       coalesce(beat.completed_at > clock_timestamp() - make_interval(secs => %(fresh)s), false),
       clock_timestamp(), {DECISIONS_STAMP}, (
    SELECT edited.revision FROM pipeline_formdraft edited
    JOIN jobs_job job ON job.id = edited.job_id
    LEFT JOIN pipeline_formversion current
        ON current.job_id = job.id AND current.number = job.form_version
    WHERE edited.job_id = %(job)s AND edited.questions <> coalesce(current.questions, '[]'))
FROM (SELECT) nothing LEFT JOIN pipeline_heartbeat beat ON beat.worker = 'decay'
"""  # noqa: S608  a constant


def read_decay_worker(job_id: UUID | None = None) -> DecayWorkerStatus:
    """Return when the decay worker was last seen and whether that is recent, in one query.

    With a job, also the stamp of its decisions that have not taken effect (empty without any), and
    the revision of changes to its questions that are not published.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORKER, {"fresh": FRESH.total_seconds(), "job": job_id})
        return DecayWorkerStatus(*cursor.fetchone())


_NEXT = """
SELECT name FROM (
    SELECT name, greatest(eligible_at, not_before) AS held_until, ticket, tie
    FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by IS NULL AND NOT pass_next
      AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
      AND id <> ALL(%(leaving)s::uuid[])
    ORDER BY ticket, tie LIMIT %(ahead)s
) front
WHERE held_until IS NULL OR held_until <= statement_timestamp() + make_interval(
    secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = %(job)s))
ORDER BY ticket, tie LIMIT %(most)s
"""


def read_next_names(job_id: UUID, *, most: int, leaving: Collection[UUID] = ()) -> list[str]:
    """Return the names of the first people who could be promoted, in order, in one query.

    Only the first 200 in line are searched, so the list is too short if more are in a cool-down or
    have deferred. Those who pass the next turn or are `leaving` are left out.
    """
    values: dict[str, Any] = {
        "job": job_id,
        "ahead": LOOKED_AHEAD,
        "most": most,
        "leaving": list(leaving),
    }
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, values)
        return [name for (name,) in cursor.fetchall()]


def _find_next_names(front: Page[SeenApplication], now: datetime, most: int) -> list[str]:
    """Return the same names from the front of the line, as far as it has been read."""
    rows = [seen.application for seen in front.rows]
    return [
        row.name
        for row in rows
        if row.is_verified
        and not row.pass_next
        and (row.held_until is None or row.held_until <= now)
    ][:most]


_PLACE_AT = """
SELECT ticket, tie FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by IS NULL
  AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
ORDER BY ticket, tie OFFSET %(before)s LIMIT 1
"""
_PLACE_BEFORE = """
SELECT ticket, tie FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND (ticket, tie) <= (%(ticket)s, %(tie)s)
ORDER BY ticket DESC, tie DESC OFFSET %(before)s LIMIT 1
"""


def find_place(job_id: UUID, position: int) -> tuple[int, int]:
    """Return the place after which a page of the waitlist begins with a position. One query."""
    if position <= 1:
        return BEFORE_THE_FIRST
    return _read_place(_PLACE_AT, {"job": job_id, "before": position - 2})


def previous_page_place(job_id: UUID, place: tuple[int, int]) -> tuple[int, int]:
    """Return the place after which the page before the one after `place` begins. One query."""
    ticket, tie = place
    values = {"job": job_id, "ticket": ticket, "tie": tie, "before": WAITING_SHOWN}
    return _read_place(_PLACE_BEFORE, values)


def _read_place(statement: str, values: dict[str, Any]) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone() or BEFORE_THE_FIRST


class Promoted(NamedTuple):
    """People who were promoted: the names of the first few, and the total."""

    names: list[str]
    total: int


_PROMOTED_SINCE = """
SELECT person.name, count(*) OVER () FROM pipeline_event event
JOIN pipeline_application person ON person.id = event.application_id
WHERE event.job_id = %(job)s AND event.seq > %(seq)s AND event.event = 'PROMOTED'
ORDER BY event.seq LIMIT 3
"""


def read_promoted(job_id: UUID, seq: int) -> Promoted:
    """Return the people promoted in a job after a recent seq, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_PROMOTED_SINCE, {"job": job_id, "seq": seq})
        rows = cursor.fetchall()
    return Promoted([name for name, _ in rows], rows[0][1] if rows else 0)


def _promotion_facts(
    job: Job, activity: RecentActivity, worker: DecayWorkerStatus
) -> PromotionFacts:
    waiting: Any = Application.objects.filter(job_id=job.id, status="WAITLIST")
    # Everyone's later end, of the cool-down or of what they asked for, and the earliest of these.
    cooling = waiting.filter(
        Q(not_before=None) | Q(not_before__lte=F("eligible_at")),
        eligible_at__isnull=False,
        verify_by=None,
    )
    deferring = waiting.filter(
        Q(eligible_at=None) | Q(eligible_at__lt=F("not_before")), not_before__isnull=False
    )
    ends = cooling.order_by("eligible_at").values_list("eligible_at")[:1]
    ends = ends.union(deferring.order_by("not_before").values_list("not_before")[:1])
    lapsing = waiting.filter(verify_by__isnull=False).order_by("verify_by")
    if not job.unverified_count:
        lapsing = lapsing.none()  # without a query
    ahead = timedelta(seconds=job.clock_offset_seconds)
    return PromotionFacts(
        status=job.status,
        capacity=job.capacity,
        active=job.active_count,
        pending=job.pending_count,
        waiting=job.waitlist_count,
        unverified=job.unverified_count,
        offers_first_seat=job.policy.acknowledge_first_seat,
        now=worker.now + ahead,
        first_deadline=activity.first_deadline,
        first_eligible=min((end for (end,) in ends), default=None),
        first_verify_by=lapsing.values_list("verify_by", flat=True).first(),
        last_promotion=activity.last_promotion,
        worker_seen=worker.seen and worker.seen + ahead,
        worker_alive=worker.alive,
        is_filled=job.is_filled,
        reserved_free=job.reserved_seats_free,
    )


# Read of a job's whole pipeline as of one instant.


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A job with everyone who holds one of its seats, and the front of its waitlist."""

    job: Job
    active: list[SeenApplication]
    pending: list[SeenApplication]
    waitlist: Page[SeenApplication]


def read_pipeline(job_id: UUID, *, limit: int) -> Pipeline:
    """Return a job's pipeline as of one instant, in one round trip. Raises JobNotFound."""
    jobs, front = read_front(job_id, WHOLE_JOB, limit=limit)
    if not jobs:
        raise JobNotFound
    return Pipeline(jobs[0], *front)


# Reads of a company's jobs with their key figures.


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """Job with figures that may need attention. Misses are those of the last seven days."""

    job: Job
    activity: RecentActivity
    load: ReviewLoad | None
    review: ReviewAge | None  # the longest


def overview_rows(jobs: Sequence[Job], now: datetime) -> list[OverviewRow]:
    """Return the figures of each job on a page at a time of the company's clock, in two queries."""
    activity = recent_activity([job.id for job in jobs], WEEK)
    loads = read_review_loads(jobs, now)
    return [
        OverviewRow(
            job,
            activity[job.id],
            load := loads.get(job.id),
            ReviewAge.of(job.review_clock, load.oldest_since, now)
            if load and load.oldest_since
            else None,
        )
        for job in jobs
    ]
