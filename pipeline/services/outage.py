"""Outage of the site: time in which nobody could confirm an offered seat is given back."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
from django.db import OperationalError, connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jobs.quiet_hours import counted_time
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import ActorKind, EventType, Status
from pipeline.models import Application, Event, Heartbeat
from pipeline.services.turns import extend_deadline

logger = logging.getLogger(__name__)

# A silence that counts as an outage, and the part of a window that is too little to give back.
LEAST_OUTAGE, LEAST_PART = timedelta(minutes=1), 0.02
# How long before a deadline it is extended if the web servers are down, and how long they may be
# down before they count as gone: perhaps the site now uses another server, which gives no signs.
BEFORE_DEADLINE, GONE = timedelta(minutes=1), timedelta(days=1)
# How long to wait for the lock of a job: the first few that are locked, then all others. Meanwhile
# this worker settles nothing.
LOCK_MS, LOCK_MS_AFTERWARDS, MOST_WAITS = 200, 1, 3
SIGN_SECONDS = 10.0  # between two signs of life of a task worker or a web server
WORKERS, WEB = "site", "web"  # the rows of signs of life

# Record that part of the site is running. The first sign of life after a silence records the
# silence, unless a longer one still waits to be made up for; no exit of a process deletes it. A
# sign of life from the future is dropped: the clock was set back.
_SIGN_OF_LIFE = """
INSERT INTO pipeline_heartbeat AS h (worker, completed_at) VALUES (%s, clock_timestamp())
ON CONFLICT (worker) DO UPDATE SET
    completed_at = CASE
        WHEN h.completed_at > excluded.completed_at + make_interval(secs => %s)
        THEN excluded.completed_at ELSE greatest(h.completed_at, excluded.completed_at) END,
    (silent_since, silent_until) = (
        SELECT since, until
        FROM (VALUES (h.completed_at, excluded.completed_at), (h.silent_since, h.silent_until))
            AS silence(since, until)
        WHERE until - since >= make_interval(secs => %s)
        ORDER BY until - since DESC LIMIT 1)
RETURNING silent_since, silent_until
"""


def watch(whose: str = WORKERS) -> tuple[datetime, datetime] | None:
    """Record that the site runs; return the beginning and end of a silence not yet made up for.

    Workers are silent when neither a decay worker nor a task worker gave a sign of life: the whole
    site or its database was down, or no emails were sent. If only the decay worker was away, that
    is not an outage, because people could confirm.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SIGN_OF_LIFE, [whose, SIGN_SECONDS, LEAST_OUTAGE.total_seconds()])
        since, until = cursor.fetchone()
    return (since, until) if since else None


def watch_task_workers() -> float:
    """Give a sign of life of a task worker; return the seconds until the next."""
    watch()
    return SIGN_SECONDS


def extend_offers() -> int:
    """Extend the open offers by the time that an outage took from them; return how many.

    Call this before settling anything, at the start and after every sleep. An offer whose deadline
    passed in the meantime stays missed: nobody can become active on it after its deadline. While
    the web servers are down, nobody can confirm either, but we do not know for how long: an offer
    whose deadline is near is extended by one window. Each offer is extended once and by one window
    at most, besides what the company gives. Offers of a job whose lock is held are skipped; the
    next call tries them again. Must not be called inside a transaction.
    """
    outage, locked = watch(), set[UUID]()
    extended = _extend_all(WORKERS, *outage, locked) if outage else 0
    web = Heartbeat.objects.filter(worker=WEB).annotate(now=Now()).first()
    if web is None:
        return extended
    if web.silent_since and web.silent_until:
        extended += _extend_all(WEB, web.silent_since, web.silent_until, locked)
    now: datetime = web.now
    if LEAST_OUTAGE <= now - web.completed_at < GONE:
        near = _open_offers().filter(
            acknowledge_by__gt=now, acknowledge_by__lte=now + BEFORE_DEADLINE
        )
        for offer in near:
            extended += _extend_one(offer, timedelta.max, locked)
    return extended


def _open_offers() -> QuerySet[Application]:
    """Return the open offers that the system has not extended yet, with their jobs and people.

    They are in the order of their deadlines. Sandboxes are left out, because they have their own
    time.
    """
    given_back = Event.objects.filter(
        application_id=OuterRef("id"),
        event=EventType.DEADLINE_EXTENDED,
        actor_kind=ActorKind.SYSTEM,
        at__gte=OuterRef("promoted_at"),
    )
    offers = Application.objects.filter(
        Q(deadline_extended=False) | ~Exists(given_back),
        status=Status.PENDING_ACKNOWLEDGMENT,
        job__is_test=False,
    )
    return offers.select_related("job", "applicant").order_by("acknowledge_by")


def _extend_all(whose: str, begun: datetime, ended: datetime, locked: set[UUID]) -> int:
    extended = skipped = 0
    for offer in _open_offers().filter(acknowledge_by__gt=ended, promoted_at__lt=ended):
        assert offer.promoted_at is not None  # noqa: S101  it was offered
        assert offer.acknowledge_by is not None  # noqa: S101  offers have a deadline
        quiet = offer.job.policy.quiet_hours(offer.applicant.time_zone)
        lost = counted_time(max(begun, offer.promoted_at), ended, quiet)
        window = counted_time(offer.promoted_at, offer.acknowledge_by, quiet)
        if lost > window * LEAST_PART:
            extended += _extend_one(offer, lost, locked)
            skipped += offer.job_id in locked
    if not skipped:  # else the silence stays recorded, and the next call tries again
        made_up_for = Heartbeat.objects.filter(worker=whose, silent_until=ended)
        made_up_for.update(silent_since=None, silent_until=None)
    logger.warning(
        "After an outage of %s (%s), %d deadlines were extended; %d wait for a lock",
        ended - begun,
        whose,
        extended,
        skipped,
    )
    return extended


def _extend_one(offer: Application, lost: timedelta, locked: set[UUID]) -> bool:
    """Extend a deadline by lost time, at most by one window; tell whether that was possible.

    A job whose lock is held is added to `locked`; its other offers are skipped.
    """
    if offer.job_id in locked:
        return False
    most = offer.job.acknowledgment_window_seconds
    seconds = min(max(1, round(lost.total_seconds())), most)
    lock_ms = LOCK_MS if len(locked) < MOST_WAITS else LOCK_MS_AFTERWARDS
    try:
        extend_deadline(application_id=offer.id, seconds=seconds, lock_ms=lock_ms)
    except (AcknowledgmentExpired, IllegalMove):  # answered, or another worker was first
        return False
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise  # it is not about this job alone
        locked.add(offer.job_id)
        about = {"job_id": str(offer.job_id)}
        logger.warning("Deadlines of a locked job are extended later", extra=about)
        return False
    return True
