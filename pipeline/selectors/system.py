"""Status of the site: background services, health, and the feed of events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.database import instants
from pipeline.domain.errors import UnknownPlace
from pipeline.line import removed_logs
from pipeline.models import Change, Event, Heartbeat, RemovedLog
from pipeline.selectors.pages import Page
from tasks.models import TaskWorker

# Checks that the site has everything it needs.


# How old a worker's last completed cycle may be.
FRESH = timedelta(seconds=30)


def are_migrations_applied() -> bool:
    """Return True if the database has every migration of this code."""
    return not missing_migrations()


def missing_migrations() -> list[str]:
    """Return the migrations of this code that the database does not have, as app.name."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    return sorted(f"{app}.{name}" for app, name in _known_migrations() - applied)


def unknown_migrations() -> list[str]:
    """Return the migrations that only a newer release knows, as app.name.

    Squashed migrations and apps that this release has dropped do not count.
    """
    known, applied = _known_migrations(), MigrationRecorder(connection).applied_migrations()
    newest: dict[str, str] = {}
    for app, name in sorted(known):
        newest[app] = name
    return sorted(
        f"{app}.{name}"
        for app, name in applied.keys() - known
        if app in newest and name > newest[app]
    )


@dataclass(frozen=True, slots=True)
class LastSeen:
    """Last sign of life of a kind of worker; None if there is none or it is too old to be kept."""

    at: datetime | None
    is_alive: bool


def read_decay_worker_health() -> LastSeen:
    """Return the decay worker's last cycle, in one query. Alive means at most 30 s ago."""
    return _last_seen(Heartbeat.objects.filter(worker="decay"), "completed_at")


def read_task_worker_health() -> LastSeen:
    """Return any task worker's last sign of life, in one query. Alive means at most 30 s ago."""
    return _last_seen(TaskWorker.objects.all(), "beat_at")


def _last_seen(rows: QuerySet[Any], field: str) -> LastSeen:
    found = rows.annotate(is_fresh=Q(**{f"{field}__gt": Now() - FRESH})).order_by(f"-{field}")
    at, is_fresh = found.values_list(field, "is_fresh").first() or (None, False)
    return LastSeen(at, is_fresh)


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations)


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """Status of the workers and the database, and due times in one company's jobs."""

    now: datetime
    decay_seen_at: datetime | None
    # How many workers were seen in the last 30 seconds.
    task_workers: int
    # When any worker was last seen; None if not within the last few days.
    task_worker_seen_at: datetime | None
    # The earliest overdue deadline; None if there is none.
    overdue_since: datetime | None
    # The next deadline or end of a cool-down.
    next_due_at: datetime | None
    database: str

    @property
    def decay_seconds(self) -> float | None:
        """Return the seconds since the decay worker's last cycle; None if it never ran."""
        return (self.now - self.decay_seen_at).total_seconds() if self.decay_seen_at else None

    @property
    def lag_seconds(self) -> float:
        """Return the seconds by which the worker is late in this company's jobs."""
        return (self.now - self.overdue_since).total_seconds() if self.overdue_since else 0.0


def read_status(company_id: UUID) -> SystemStatus:
    """Return the status in four queries, without anything about other companies' jobs."""
    jobs = Job.objects.filter(company_id=company_id, next_due_at__isnull=False)
    due = jobs.aggregate(
        overdue=Min("next_due_at", filter=Q(next_due_at__lte=Now())),
        next=Min("next_due_at", filter=Q(next_due_at__gt=Now())),
    )
    seen = Heartbeat.objects.filter(worker="decay").values_list("completed_at", flat=True).first()
    workers = TaskWorker.objects.aggregate(
        alive=Count("pk", filter=Q(beat_at__gt=Now() - FRESH)), seen=Max("beat_at")
    )
    now = instants.now()
    version = connection.connection.info.server_version
    return SystemStatus(
        now=now,
        decay_seen_at=seen,
        task_workers=workers["alive"],
        task_worker_seen_at=workers["seen"],
        overdue_since=due["overdue"],
        next_due_at=due["next"],
        database=f"PostgreSQL {version // 10_000}.{version % 10_000}",
    )


def read_logs(company_id: UUID, *, after: UUID | None, limit: int) -> Page[Job]:
    """Return a company's jobs with the head of each log, newest first, in one query."""
    jobs = Job.objects.filter(company_id=company_id, posting__isnull=False)
    jobs = jobs.select_related("posting")
    if after:
        jobs = jobs.filter(id__lt=after)
    return Page.cut(list(jobs.order_by("-id")[: limit + 1]), limit)


# Feeds of a company: all events of its jobs, and all other changes; none is lost or repeated. Rows
# get their ids before their transactions commit, so a reader that remembers the highest id it has
# seen would miss the rows that commit later with lower ones. The feed is ordered by (`txid`, `id`)
# and stops before the oldest transaction that is still running, so it is complete: whatever commits
# later has a higher `txid`. Within one job, this is the order of `seq`. It is read from the primary
# alone: a replica can show an event that a failover then undoes, and readers keep what they were
# sent.


class FeedPlace(NamedTuple):
    """Place in a company's feed, after an event. It reveals nothing about other companies."""

    job_id: UUID
    seq: int


_START = (0, 0)


def _feed_page_sql(rows: type[Event | Change]) -> str:
    """Return SQL of a page of a feed. The horizon is that of this statement's own snapshot."""
    return """
SELECT {columns} FROM {table}
WHERE company_id = %(company)s AND (txid, id) > (%(txid)s, %(row)s)
  AND txid < pipeline_feed_horizon()
  AND (%(among)s::uuid[] IS NULL OR job_id = ANY(%(among)s::uuid[]))
ORDER BY txid, id LIMIT %(most)s
""".format(
        table=rows._meta.db_table,
        columns=", ".join(field.attname for field in rows._meta.concrete_fields),
    )


_PAGE, _CHANGES = _feed_page_sql(Event), _feed_page_sql(Change)


# The last event that the feed shows now.
_END = """
SELECT job_id, seq FROM pipeline_event
WHERE company_id = %(company)s AND txid < pipeline_feed_horizon()
  AND (%(among)s::uuid[] IS NULL OR job_id = ANY(%(among)s::uuid[]))
ORDER BY txid DESC, id DESC LIMIT 1
"""


_END_OF_CHANGES = """
SELECT id FROM pipeline_change
WHERE company_id = %(company)s AND txid < pipeline_feed_horizon()
  AND (%(among)s::uuid[] IS NULL OR job_id = ANY(%(among)s::uuid[]))
ORDER BY txid DESC, id DESC LIMIT 1
"""


def feed_end(company_id: UUID, *, among: list[UUID] | None = None) -> FeedPlace | None:
    """Return the place after the last event in a company's feed; None if it is empty. One query.

    `among`: only events of these jobs are in the feed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_END, {"company": company_id, "among": among})
        row = cursor.fetchone()
    return FeedPlace(*row) if row else None


def _removed_log_end(company_id: UUID, after: FeedPlace) -> tuple[int, int]:
    """Return the place of a removed log's last event. Raises UnknownPlace, LogArchived."""
    removed = RemovedLog.objects.filter(job_id=after.job_id, job__company_id=company_id).first()
    if removed is None:
        raise UnknownPlace
    if removed.events != after.seq:
        removed_logs.refuse(after.job_id)
    return removed.last_txid, removed.last_id


def read_feed(
    company_id: UUID, *, after: FeedPlace | None, limit: int, among: list[UUID] | None = None
) -> Page[Event]:
    """Return a page of a company's feed after a place (two queries), or from its start (one).

    `among`: only the events of these jobs. Events of logs that were removed to the archive are left
    out. Raises UnknownPlace if the company has no such event, LogArchived if it was in such a log,
    and not its last one.
    """
    txid, row_id = _START
    if after:
        if among is not None and after.job_id not in among:
            raise UnknownPlace
        events = Event.objects.filter(company_id=company_id, job_id=after.job_id, seq=after.seq)
        found = events.values_list("txid", "id").first()
        txid, row_id = found or _removed_log_end(company_id, after)
    place: dict[str, Any] = {"txid": txid, "row": row_id, "most": limit + 1}
    values = {"company": company_id, "among": among} | place
    return Page.cut(list(Event.objects.raw(_PAGE, values)), limit)


def changes_end(company_id: UUID, *, among: list[UUID] | None = None) -> UUID | None:
    """Return the last of a company's changes that its feed shows now. One query.

    `among`: only changes of these jobs.
    """
    with connection.cursor() as cursor:
        cursor.execute(_END_OF_CHANGES, {"company": company_id, "among": among})
        row = cursor.fetchone()
    return row[0] if row else None


def read_changes(
    company_id: UUID, *, after: UUID | None, limit: int, among: list[UUID] | None = None
) -> Page[Change]:
    """Return a page of a company's changes after one of them (two queries), or from the first.

    `among`: only the changes of these jobs. Raises UnknownPlace if the company has no such change.
    """
    txid, row_id = 0, UUID(int=0)
    if after:
        changes = Change.objects.filter(company_id=company_id, id=after)
        if among is not None:
            changes = changes.filter(job_id__in=among)
        found = changes.values_list("txid", "id").first()
        if found is None:
            raise UnknownPlace
        txid, row_id = found
    place: dict[str, Any] = {"txid": txid, "row": row_id, "most": limit + 1}
    values = {"company": company_id, "among": among} | place
    return Page.cut(list(Change.objects.raw(_CHANGES, values)), limit)
