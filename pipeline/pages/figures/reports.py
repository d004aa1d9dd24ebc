"""The weekly reports of a job: the list, one of them, as a file, and having them made."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job
from pipeline.background.errors import WorkError
from pipeline.background.schedules import Plan, change_schedule, create_schedule, delete_schedule
from pipeline.background.start import TaskRequest, start
from pipeline.domain.errors import ScheduleNotFound
from pipeline.domain.permissions import Action
from pipeline.exports.formats import TYPES, csv_lines
from pipeline.pages.access import for_members, own_job
from pipeline.pages.figures import week_charts, week_rows
from pipeline.pages.live_page import live_page
from pipeline.reports.read import (
    KEY,
    Shelf,
    is_being_made,
    last_try,
    report_of,
    reports_of,
    schedule_id,
    schedule_of,
)
from pipeline.selectors.paging import database_now
from pipeline.stats.job_week import DAYS, Week
from tasks.errors import TaskError
from tasks.models.statuses import Status

PAGE = 26
"""Half a year."""
CHOICES = 12
"""How many weeks back a report can be asked for on the page."""
MONDAY_MORNING = "0 8 * * 1"
CSV_COLUMNS = ("group", "figure", "unit", "week", "week_before")


@dataclass(frozen=True, slots=True)
class Line:
    """A report in the list."""

    week: Week
    made_at: Any
    tiles: dict[str, week_rows.Row]


@require_safe
@for_members()
def reports(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The reports that there are; keeps itself up to date while one is being made."""
    member, job = own_job(request, job_id)
    before = _as_date(request.GET.get("before", ""))
    page = reports_of(job.id, before=before, limit=PAGE)
    task, schedule = last_try(job.company_id, job.id), schedule_of(job.company_id, job.id)
    zone = timezone.get_current_timezone_name()
    context = {
        "job": job,
        "tab": "reports",
        "lines": [_line(each) for each in page.rows],
        "next_url": f"?before={page.rows[-1].week}" if page.more else "",
        "first_url": "?" if before else "",
        "task": task,
        "is_being_made": is_being_made(task),
        "has_failed": task and task.status in (Status.DEAD, Status.DISCARDED),
        "schedule": schedule,
        "weeks": _weeks(job, zone),
        "may_make": member.may(Action.MAKE_REPORT),
    }
    last = max((each.made_at for each in page.rows), default=None)
    status = (task.id, task.status) if task else None
    planned = schedule and (schedule.next_at, schedule.enabled)
    return live_page(
        request,
        "figures/reports.html",
        "figures/_reports.html",
        build=lambda: context,
        tag=f"{last} {len(page.rows)} {status} {planned} {job.posting.version} {job.status}",
    )


@require_safe
@for_members()
def report(request: HttpRequest, job_id: UUID, week: str) -> HttpResponse:
    """The report of one week."""
    member, job = own_job(request, job_id)
    shelf = _shelf(job, week)
    figures, before = shelf.report.figures["week"], shelf.report.figures["before"]
    span = Week(shelf.report.week, shelf.report.zone)
    parts, bar = week_charts.seat_time(figures)
    context = {
        "job": job,
        "tab": "reports",
        "shelf": shelf,
        "report": shelf.report,
        "span": span,
        "figures": figures,
        "before": before,
        "in_short": week_rows.in_short(figures),
        "tiles": week_rows.tiles_of(figures, before),
        "columns": week_rows.columns_of(figures, before),
        "days": week_charts.days(figures, span),
        "day_rows": list(zip(week_charts.day_names(span), figures["days"], strict=True)),
        "kinds": week_charts.KINDS,
        "occupancy": week_charts.occupancy(figures, span),
        "parts": parts if any(part.seconds for part in parts) else [],
        "seat_bar": bar,
        "may_make": member.may(Action.MAKE_REPORT),
    }
    return render(request, "figures/report.html", context)


@require_safe
@for_members()
def report_csv(request: HttpRequest, job_id: UUID, week: str) -> HttpResponse:
    """The numbers of one week's report as CSV."""
    _, job = own_job(request, job_id)
    found = _shelf(job, week).report
    rows = week_rows.csv_rows(found.figures["week"], found.figures["before"])
    response = HttpResponse("".join(csv_lines(CSV_COLUMNS, rows)), content_type=TYPES["csv"])
    name = f"{slugify(job.posting.title)[:60] or 'job'}-week-{found.week}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_members(Action.MAKE_REPORT)
def make_report(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Start making the report of a week in the background: the last whole one, if none is named."""
    member, job = own_job(request, job_id, Action.MAKE_REPORT)
    payload = {"job_id": str(job.id), "zone": timezone.get_current_timezone_name()}
    if week := _as_date(request.POST.get("week", "")):
        payload["week"] = week.isoformat()
    if not is_being_made(last_try(job.company_id, job.id)):
        try:
            start(
                company_id=job.company_id,
                producer=f"member:{member.user.id}",
                requests=[TaskRequest(KEY, payload)],
            )
        except (TaskError, WorkError) as error:
            messages.error(request, str(error))
    return redirect("reports", job_id=job.id)


@require_POST
@for_members(Action.MAKE_REPORT)
def report_schedule(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Have the report made every Monday at 08:00, or no more."""
    member, job = own_job(request, job_id, Action.MAKE_REPORT)
    actor, own = f"member:{member.user.id}", schedule_id(job.id)
    try:
        if request.POST.get("do") == "stop":
            with suppress(ScheduleNotFound):
                delete_schedule(company_id=job.company_id, schedule_id=own, actor=actor)
            messages.success(request, "No more reports are made on Mondays. Those made stay here.")
        else:
            _every_monday(job, actor)
            messages.success(request, "The report of the week before is made every Monday.")
    except (TaskError, WorkError) as error:
        messages.error(request, str(error))
    return redirect("reports", job_id=job.id)


def _every_monday(job: Job, actor: str) -> None:
    """Make the schedule; one that is there goes on, in the zone of who asks."""
    zone = timezone.get_current_timezone_name()
    plan = Plan(
        name=f"Weekly report of {job.posting.title}"[:200],
        cron=MONDAY_MORNING,
        type_key=KEY,
        zone=zone,
        payload={"job_id": str(job.id), "zone": zone},
    )
    own, company_id = schedule_id(job.id), job.company_id
    made = create_schedule(company_id=company_id, plan=plan, schedule_id=own, actor=actor)
    if (made.zone, made.enabled) != (zone, True):
        changes = {"zone": zone, "payload": plan.payload, "cron": plan.cron, "enabled": True}
        change_schedule(company_id=company_id, schedule_id=own, changes=changes, actor=actor)


def _shelf(job: Job, week: str) -> Shelf:
    """The report of the week that an address names. Raises Http404."""
    monday = _as_date(week)
    shelf = report_of(job.id, monday) if monday else None
    if shelf is None:
        raise Http404
    return shelf


def _line(report: Any) -> Line:
    rows = week_rows.tiles_of(report.figures["week"], report.figures["before"])
    return Line(
        week=Week(report.week, report.zone),
        made_at=report.made_at,
        tiles={row.key: row for row in rows},
    )


def _weeks(job: Job, zone: str) -> list[Week]:
    """The weeks of which a report can be made: over, and not before the job; the last one first."""
    last = Week.last_whole(database_now(), zone)
    back = [Week(last.monday - timedelta(days=DAYS * n), zone) for n in range(CHOICES)]
    return [week for week in back if week.end > job.created_at]


def _as_date(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None
