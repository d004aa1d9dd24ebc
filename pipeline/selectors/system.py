"""Status of the background services, as far as a company may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.database.instants import database_now
from pipeline.models import Heartbeat
from pipeline.selectors.health import FRESH
from pipeline.selectors.page import Page
from tasks.models import TaskWorker


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


def system_status_for(company_id: UUID) -> SystemStatus:
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
    now = database_now()
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


def logs_of_system(company_id: UUID, *, after: UUID | None, limit: int) -> Page[Job]:
    """Return a company's jobs with the head of each log, newest first, in one query."""
    jobs = Job.objects.filter(company_id=company_id, posting__isnull=False)
    jobs = jobs.select_related("posting")
    if after:
        jobs = jobs.filter(id__lt=after)
    return Page.cut(list(jobs.order_by("-id")[: limit + 1]), limit)
