"""Reads of the weekly reports of a job, the one that is being made, and when the next one comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import NAMESPACE_OID, UUID, uuid5

from pipeline.models import WeeklyReport
from pipeline.selectors.paging import Page
from tasks.models import Schedule, Task
from tasks.models.statuses import Status

KEY = "report.weekly"
# Among how many of a company's last tasks the last report of a job is looked for.
LOOKED_AT = 200


def reports_of(job_id: UUID, *, before: date | None, limit: int) -> Page[WeeklyReport]:
    """Return a job's reports, the last week first; `before` goes on behind a week. In one query."""
    reports = WeeklyReport.objects.filter(job_id=job_id)
    if before:
        reports = reports.filter(week__lt=before)
    return Page.cut(list(reports.order_by("-week")[: limit + 1]), limit)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A report, and the weeks before and after it of which there is one too."""

    report: WeeklyReport
    earlier: date | None
    later: date | None


def report_of(job_id: UUID, week: date) -> Shelf | None:
    """Return the report of a job's week that begins on a day, in three queries.

    Return None if there is none.
    """
    reports = WeeklyReport.objects.filter(job_id=job_id)
    report = reports.filter(week=week).first()
    if report is None:
        return None
    weeks = reports.values_list("week", flat=True)
    return Shelf(
        report=report,
        earlier=weeks.filter(week__lt=week).order_by("-week").first(),
        later=weeks.filter(week__gt=week).order_by("week").first(),
    )


def last_report_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return the last task that was to make a report of a job, in one query.

    It is None without a recent one.

    "Lately" is among the company's last LOOKED_AT tasks, whatever they are.
    """
    latest = Task.objects.filter(owner_id=company_id).order_by("-id").values("id")[:LOOKED_AT]
    of_job = Task.objects.filter(id__in=latest, type__key=KEY, payload__job_id=str(job_id))
    return of_job.order_by("-id").first()


def is_report_being_made(task: Task | None) -> bool:
    """Return True unless the task has ended."""
    return task is not None and task.status in (Status.PENDING, Status.RUNNING, Status.CANCELLING)


def report_schedule_id(job_id: UUID) -> UUID:
    """Return the id of the schedule that makes a job's reports: a job has one at most."""
    return uuid5(NAMESPACE_OID, f"{KEY} {job_id}")


def report_schedule_of(company_id: UUID, job_id: UUID) -> Schedule | None:
    """Return the schedule that makes a job's reports, in one query; None if none does."""
    return Schedule.objects.filter(id=report_schedule_id(job_id), owner_id=company_id).first()
