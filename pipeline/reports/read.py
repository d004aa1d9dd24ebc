"""Reads of a job's weekly reports, and of the task that is making one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from pipeline.database.replica import reads_replica
from pipeline.models import WeeklyReport
from pipeline.selectors.page import Page
from tasks.models import Task
from tasks.models.statuses import Status

KEY = "report.weekly"
# How many of a company's last tasks are searched for a job's last report.
LOOKED_AT = 200


@reads_replica
def read_reports(job_id: UUID, *, before: date | None, limit: int) -> Page[WeeklyReport]:
    """Return a job's reports, last week first, in one query. `before` continues after a week."""
    reports = WeeklyReport.objects.filter(job_id=job_id)
    if before:
        reports = reports.filter(week__lt=before)
    return Page.cut(list(reports.order_by("-week")[: limit + 1]), limit)


@dataclass(frozen=True, slots=True)
class ReportWithNeighbours:
    """A report, and the nearest earlier and later weeks that also have one."""

    report: WeeklyReport
    earlier: date | None
    later: date | None


@reads_replica
def read_report(job_id: UUID, week: date) -> ReportWithNeighbours | None:
    """Return a job's report for the week that begins on a day, in three queries.

    Returns None if there is none.
    """
    reports = WeeklyReport.objects.filter(job_id=job_id)
    report = reports.filter(week=week).first()
    if report is None:
        return None
    weeks = reports.values_list("week", flat=True)
    return ReportWithNeighbours(
        report=report,
        earlier=weeks.filter(week__lt=week).order_by("-week").first(),
        later=weeks.filter(week__gt=week).order_by("week").first(),
    )


def read_last_report_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return a job's last report task, in one query.

    Returns None if there is no recent one.

    Recent means among the company's last LOOKED_AT tasks of any type.
    """
    latest = Task.objects.filter(owner_id=company_id).order_by("-id").values("id")[:LOOKED_AT]
    of_job = Task.objects.filter(id__in=latest, type__key=KEY, payload__job_id=str(job_id))
    return of_job.order_by("-id").first()


def is_report_being_made(task: Task | None) -> bool:
    """Return True unless the task has ended."""
    return task is not None and task.status in (Status.PENDING, Status.RUNNING, Status.CANCELLING)
