"""Weekly reports of a job, counted from its log and stored."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models.functions import Now

from jobs.models import JobStatus
from pipeline.database.instants import database_now
from pipeline.domain.errors import JobNotFound
from pipeline.models import WeeklyReport
from pipeline.selectors.jobs import read_job
from pipeline.stats.idle_seats import idle_seats_in_week
from pipeline.stats.job_week import Week, week_of_job
from tasks.time_zones import is_known_time_zone


class BadWeek(Exception):
    """The week is not a Monday, has not ended, or its time zone is unknown."""


class NothingToReport(Exception):
    """The job did not exist yet in that week."""


class JobOver(NothingToReport):
    """The job was closed and everyone had been decided on, so nothing more could happen."""


def make_weekly_report(
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
    now = database_now(ahead_seconds=job.clock_offset_seconds)
    chosen = _week_to_report(week, zone, now)
    if chosen.monday < job.created_at.date() - timedelta(days=9) or chosen.end <= job.created_at:
        raise NothingToReport("the job was created after that week")
    people = job.active_count + job.pending_count + job.waitlist_count
    if job.status == JobStatus.CLOSED and not people and job.last_event_at < chosen.start:
        raise JobOver("the job was over before that week")
    figures, before = week_of_job(job_id, chosen), week_of_job(job_id, chosen.before)
    for counted, each in ((figures, chosen), (before, chosen.before)):
        if counted is not None:
            ledger = idle_seats_in_week(job, each)
            counted["idle_seats"] = ledger and ledger.seconds()
    WeeklyReport.objects.bulk_create(
        [
            WeeklyReport(
                job_id=job_id,
                week=chosen.monday,
                zone=zone,
                figures={"week": figures, "before": before},
                made_at=Now(),
            )
        ],
        update_conflicts=True,
        unique_fields=["job", "week"],
        update_fields=["zone", "figures", "made_at"],
    )
    return WeeklyReport.objects.get(job_id=job_id, week=chosen.monday)


def _week_to_report(monday: date | None, zone: str, now: datetime) -> Week:
    """Return the requested week. Raises BadWeek unless it is over."""
    if not is_known_time_zone(zone):
        raise BadWeek(f"there is no time zone {zone!r}")
    last = Week.last_whole(now, zone)
    if monday is None:
        return last
    if monday.weekday():
        raise BadWeek("a week begins on a Monday")
    if monday > last.monday:
        raise BadWeek("that week is not over yet")
    return Week(monday, zone)
