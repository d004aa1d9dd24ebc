"""Weekly reports of a job: figures, reads, schedule and task."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.database.replica import reads_replica
from pipeline.domain.errors import JobNotFound, LogArchived, ScheduleNotFound
from pipeline.figures import idle_seats, series
from pipeline.figures.series import Week
from pipeline.models import WeeklyReport
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import Page
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from tasks import time_zones
from tasks.errors import Discard, Fatal
from tasks.models import Schedule, Status, Task
from tasks.registry import task_type
from tasks.signature import JsonSchema

KEY = "report.weekly"
_follow_ups: list[Callable[[Job, WeeklyReport], object]] = []
# How many of a company's last tasks are searched for a job's last report.
LOOKED_AT = 200


def register_follow_up(follow: Callable[[Job, WeeklyReport], object]) -> None:
    """Call `follow` in the transaction of every later report. Registering twice is harmless."""
    if follow not in _follow_ups:
        _follow_ups.append(follow)


@reads_replica
def read_page(job_id: UUID, *, before: date | None, limit: int) -> Page[WeeklyReport]:
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
def read(job_id: UUID, week: date) -> ReportWithNeighbours | None:
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


def read_last_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return a job's last report task, in one query.

    Returns None if there is no recent one.

    Recent means among the company's last LOOKED_AT tasks of any type.
    """
    latest = Task.objects.filter(owner_id=company_id).order_by("-id").values("id")[:LOOKED_AT]
    of_job = Task.objects.filter(id__in=latest, type__key=KEY, payload__job_id=str(job_id))
    return of_job.order_by("-id").first()


def is_being_made(task: Task | None) -> bool:
    """Return True unless the task has ended."""
    return task is not None and task.status in (Status.PENDING, Status.RUNNING, Status.CANCELLING)


# Schedule of a job's weekly reports: its id, and the schedule itself.


MONDAY_MORNING = "0 8 * * 1"


def schedule_id(job_id: UUID) -> UUID:
    """Return the id of the schedule that makes a job's reports. A job has at most one."""
    return uuid5(NAMESPACE_OID, f"{KEY} {job_id}")


def read_schedule(company_id: UUID, job_id: UUID) -> Schedule | None:
    """Return the schedule that makes a job's reports, or None, in one query."""
    return Schedule.objects.filter(id=schedule_id(job_id), owner_id=company_id).first()


def schedule_weekly(job: Job, *, zone: str, actor: str) -> None:
    """Schedule the report for every Monday at 08:00 in a time zone; safe to call again."""
    plan = Plan(
        name=(_("Weekly report of %(job)s") % {"job": job.posting.title})[:200],
        cron=MONDAY_MORNING,
        type_key=KEY,
        zone=zone,
        payload={"job_id": str(job.id), "zone": zone},
    )
    own, company_id = schedule_id(job.id), job.company_id
    made = schedules.create(company_id=company_id, plan=plan, schedule_id=own, actor=actor)
    if (made.zone, made.enabled) != (zone, True):
        changes = {"zone": zone, "payload": plan.payload, "cron": plan.cron, "enabled": True}
        schedules.change(company_id=company_id, schedule_id=own, changes=changes, actor=actor)


def delete_schedule(company_id: UUID, job_id: UUID, *, actor: str = "site") -> None:
    """Delete the schedule that makes a job's reports, if there is one."""
    with suppress(ScheduleNotFound):
        schedules.delete(
            company_id=company_id,
            schedule_id=schedule_id(job_id),
            actor=actor,
        )


# Weekly reports of a job, counted from its log and stored.


class BadWeek(Exception):
    """The week is not a Monday, has not ended, or its time zone is unknown."""


class NothingToReport(Exception):
    """The job did not exist yet in that week."""


class JobOver(NothingToReport):
    """The job was closed and everyone had been decided on, so nothing more could happen."""


def make(
    *, job_id: UUID, company_id: UUID, week: date | None = None, zone: str = "UTC"
) -> WeeklyReport:
    """Make the report of a job's week that begins on a Monday, compared with the week before.

    Without a week, it is the last one that has ended in the time zone. A job has one report per
    week; making it again replaces it. Raises JobNotFound, also for another company's job; BadWeek;
    NothingToReport if the job did not exist in that week; JobOver if it was over before;
    LogArchived.
    """
    job = read_job(job_id)
    if job.company_id != company_id:
        raise JobNotFound
    now = instants.now(ahead_seconds=job.clock_offset_seconds)
    chosen = _requested_week(week, zone, now)
    if chosen.monday < job.created_at.date() - timedelta(days=9) or chosen.end <= job.created_at:
        raise NothingToReport(gettext_noop("the job was created after that week"))
    people = job.active_count + job.pending_count + job.waitlist_count
    if job.status == JobStatus.CLOSED and not people and job.last_event_at < chosen.start:
        raise JobOver(gettext_noop("the job was over before that week"))
    figures, before = series.read_week(job_id, chosen), series.read_week(job_id, chosen.before)
    for counted, each in ((figures, chosen), (before, chosen.before)):
        if counted is not None:
            ledger = idle_seats.read_week(job, each)
            counted["idle_seats"] = ledger and ledger.seconds()
    row = WeeklyReport(
        job_id=job_id,
        week=chosen.monday,
        zone=zone,
        figures={"week": figures, "before": before},
        made_at=Now(),
    )
    return _keep(job, row)


@transaction.atomic
def _keep(job: Job, row: WeeklyReport) -> WeeklyReport:
    """Store a report, and let others follow it in the same transaction."""
    WeeklyReport.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["job", "week"],
        update_fields=["zone", "figures", "made_at"],
    )
    stored = WeeklyReport.objects.get(job_id=job.id, week=row.week)
    for follow in _follow_ups:
        follow(job, stored)
    return stored


def _requested_week(monday: date | None, zone: str, now: datetime) -> Week:
    """Return the requested week. Raises BadWeek unless it is over."""
    if not time_zones.is_known(zone):
        raise BadWeek(_("there is no time zone %(zone)s") % {"zone": repr(zone)})
    last = Week.last_whole(now, zone)
    if monday is None:
        return last
    if monday.weekday():
        raise BadWeek(gettext_noop("a week begins on a Monday"))
    if monday > last.monday:
        raise BadWeek(gettext_noop("that week is not over yet"))
    return Week(monday, zone)


# Task that makes weekly reports, started by a schedule on Mondays or by hand.


@task_type(
    key=KEY,
    queue="files",
    timeout_seconds=600,
    max_attempts=5,
    cap=2,
)
def make_weekly(
    owner_id: UUID,
    job_id: UUID,
    week: Annotated[date, JsonSchema(format="week")] | None = None,
    zone: Annotated[str, JsonSchema(maxLength=64, format="time-zone")] = "UTC",
) -> dict[str, Any]:
    """Make the report of a job's week: {"week", "events"}.

    `week` is a Monday of time zone `zone`.

    Without a week, it is the last whole one in that zone. Without a zone, it is UTC.
    """
    try:
        report = make(job_id=job_id, company_id=owner_id, week=week, zone=zone)
    except JobNotFound as error:  # deleted, too: a draft with a schedule
        delete_schedule(owner_id, job_id)
        raise Fatal(str(error)) from None
    # The request is wrong, not the type, so its breaker counts no failure.
    except (BadWeek, LogArchived) as error:
        raise Discard(str(error)) from None
    except NothingToReport as error:
        if isinstance(error, JobOver):
            delete_schedule(owner_id, job_id)
        raise Discard(str(error)) from None
    return {"week": report.week.isoformat(), "events": report.figures["week"]["events"]}
