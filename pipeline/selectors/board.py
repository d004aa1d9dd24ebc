"""Reads of a job's line for its company's board, bounded however long the line is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from jobs.models import Job
from pipeline.database.instants import one_instant
from pipeline.models import Application
from pipeline.selectors import sql
from pipeline.selectors.applications import (
    BEFORE_THE_FIRST,
    SeenApplication,
    queued_applications_of,
    read_applications_page,
)
from pipeline.selectors.health import FRESH
from pipeline.selectors.jobs import read_job
from pipeline.selectors.page import Page
from pipeline.selectors.recent_stats import (
    RecentActivity,
    RecentFacts,
    recent_activity,
    recent_waits,
)
from pipeline.wording.promotion_status import PromotionFacts

SEATS_SHOWN, WAITING_SHOWN = 60, 50
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
    recent: RecentFacts
    activity: RecentActivity
    facts: PromotionFacts

    @property
    def now(self) -> datetime:
        """Return the database's time."""
        return self.facts.now


def read_board(
    job_id: UUID,
    *,
    seats_after: SeatPlace | None = None,
    waiting_after: tuple[int, int] = BEFORE_THE_FIRST,
) -> Board:
    """Return the board's data in seven queries.

    Misses are those of 24 hours. Raises JobNotFound.
    """
    with one_instant():
        job = read_job(job_id)
        activity = recent_activity([job_id], timedelta(hours=24))[job_id]
        return Board(
            job=job,
            seats=read_board_seats(job_id, after=seats_after, limit=SEATS_SHOWN),
            waitlist=queued_applications_of(job_id, after=waiting_after, limit=WAITING_SHOWN),
            recent=recent_waits([job_id])[job_id],
            activity=activity,
            facts=_board_promotion_facts(job, activity),
        )


def read_board_seats(job_id: UUID, *, after: SeatPlace | None, limit: int) -> Page[SeenApplication]:
    """Return the holders of seats: pending ones by deadline, then active ones, longest first.

    This takes one query.
    """
    pending, active = ("-infinity", _LOWEST), ("-infinity", _LOWEST)
    if after and after.pending:
        pending = (after.moment.isoformat(), after.id)
    elif after:
        pending, active = ("infinity", _HIGHEST), (after.moment.isoformat(), after.id)
    rows = read_applications_page(
        sql.SEATS,
        job=job_id,
        pending_at=pending[0],
        pending_id=pending[1],
        active_at=active[0],
        active_id=active[1],
        most=limit + 1,
    )
    return Page.cut(rows, limit)


def board_place_of(seen: SeenApplication) -> SeatPlace:
    """Return the place of an application in the list of seats."""
    application = seen.application
    deadline = application.acknowledge_by
    return SeatPlace(deadline is not None, deadline or application.status_since, application.id)


class DecayWorkerStatus(NamedTuple):
    """Status of the decay worker, and the database's time."""

    seen: datetime | None
    alive: bool
    now: datetime


_WORKER = """
SELECT beat.completed_at,
       coalesce(beat.completed_at > clock_timestamp() - make_interval(secs => %s), false),
       clock_timestamp()
FROM (SELECT) nothing LEFT JOIN pipeline_heartbeat beat ON beat.worker = 'decay'
"""


def read_decay_worker_for_board() -> DecayWorkerStatus:
    """Return when the decay worker was last seen and whether that is recent, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_WORKER, [FRESH.total_seconds()])
        return DecayWorkerStatus(*cursor.fetchone())


_NEXT = """
SELECT name FROM (
    SELECT name, eligible_at, ticket, tie FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by IS NULL
      AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
    ORDER BY ticket, tie LIMIT %(ahead)s
) front
WHERE eligible_at IS NULL OR eligible_at <= statement_timestamp()
ORDER BY ticket, tie LIMIT %(most)s
"""


def read_board_next_in_line(job_id: UUID, *, most: int) -> list[str]:
    """Return the names of the first people who could be promoted, in order, in one query.

    Only the first 200 in line are searched, so the list is too short if more are in a cool-down.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, {"job": job_id, "ahead": LOOKED_AHEAD, "most": most})
        return [name for (name,) in cursor.fetchall()]


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


def read_board_promoted_since(job_id: UUID, seq: int) -> Promoted:
    """Return the people promoted in a job after a recent seq, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_PROMOTED_SINCE, {"job": job_id, "seq": seq})
        rows = cursor.fetchall()
    return Promoted([name for name, _ in rows], rows[0][1] if rows else 0)


def _board_promotion_facts(job: Job, activity: RecentActivity) -> PromotionFacts:
    waiting: Any = Application.objects.filter(job_id=job.id, status="WAITLIST")
    cooling = waiting.filter(eligible_at__isnull=False, verify_by=None).order_by("eligible_at")
    lapsing = waiting.filter(verify_by__isnull=False).order_by("verify_by")
    if not job.unverified_count:
        lapsing = lapsing.none()  # without a query
    worker = read_decay_worker_for_board()
    return PromotionFacts(
        status=job.status,
        capacity=job.capacity,
        active=job.active_count,
        pending=job.pending_count,
        waiting=job.waitlist_count,
        unverified=job.unverified_count,
        now=worker.now,
        first_deadline=activity.first_deadline,
        first_eligible=cooling.values_list("eligible_at", flat=True).first(),
        first_verify_by=lapsing.values_list("verify_by", flat=True).first(),
        last_promotion=activity.last_promotion,
        worker_seen=worker.seen,
        worker_alive=worker.alive,
    )
