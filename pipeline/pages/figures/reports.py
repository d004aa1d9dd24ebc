"""Weekly reports of a job: list, page, CSV file, and the actions to make them."""

from __future__ import annotations

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
from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.figures import reports
from pipeline.figures.reports import KEY, ReportWithNeighbours
from pipeline.figures.series import DAYS, Week
from pipeline.files.exports import TYPES, formatted_csv_lines
from pipeline.pages.access import for_members, own_job
from pipeline.pages.figures.weeks import (
    DAY_BARS,
    csv_rows,
    day_names,
    draw_days,
    draw_occupancy,
    draw_spent_time,
    row_columns,
    summarise,
    tile_rows,
)
from pipeline.pages.live_page import live_page
from pipeline.work.start import TaskRequest, WorkError, start_tasks
from tasks.errors import TaskError
from tasks.models import Status

PAGE = 26  # half a year
CHOICES = 12  # past weeks for which the page offers a report
LIST_COLUMNS = {
    "applied": "Applied",
    "offered": "Offered",
    "confirmed": "Confirmed",
    "missed": "Missed",
    "decided": "Decided",
}
NO_REPORTS = (
    "A report covers one week, Monday to Monday: applications, offers, missed deadlines, waiting"
    " times and free seats, compared with the week before. Create the first one, or switch on"
    " Monday reports."
)
CSV_COLUMNS = ("group", "figure", "unit", "week", "week_before")


@dataclass(frozen=True, slots=True)
class Line:
    """Report in the list."""

    week: Week
    made_at: Any
    cells: list[tuple[str, str]]


@require_safe
@for_members()
def index(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """List the reports; the page keeps itself up to date while one is being created."""
    member, job = own_job(request, job_id)
    before = _parse_week(request.GET.get("before", ""))
    page = reports.read_page(job.id, before=before, limit=PAGE)
    task, schedule = (
        reports.read_last_task(job.company_id, job.id),
        reports.read_schedule(job.company_id, job.id),
    )
    zone = timezone.get_current_timezone_name()
    last_week = Week.last_whole(instants.now(ahead_seconds=job.clock_offset_seconds), zone)
    weeks = [Week(last_week.monday - timedelta(days=DAYS * n), zone) for n in range(CHOICES)]
    context = {
        "job": job,
        "tab": "reports",
        "columns": LIST_COLUMNS.values(),
        "no_reports": NO_REPORTS,
        "lines": [
            Line(
                week=Week(each.week, each.zone),
                made_at=each.made_at,
                cells=[
                    (LIST_COLUMNS[row.key], row.shown)
                    for row in tile_rows(each.figures["week"], each.figures["before"])
                    if row.key in LIST_COLUMNS
                ],
            )
            for each in page.rows
        ],
        "next_url": f"?before={page.rows[-1].week}" if page.more else "",
        "first_url": "?" if before else "",
        "task": task,
        "is_being_made": reports.is_being_made(task),
        "has_failed": task and task.status in (Status.DEAD, Status.DISCARDED),
        "schedule": schedule,
        "weeks": [week for week in weeks if week.end > job.created_at],
        "may_make": member.may(Action.MAKE_REPORT),
        "may_schedule": member.may(Action.MANAGE_SCHEDULES),
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
def show(request: HttpRequest, job_id: UUID, week: str) -> HttpResponse:
    """Show the report of one week."""
    member, job = own_job(request, job_id)
    shelf = _read_week(job, week)
    figures, before = shelf.report.figures["week"], shelf.report.figures["before"]
    span = Week(shelf.report.week, shelf.report.zone)
    parts, bar = draw_spent_time(figures)
    context = {
        "job": job,
        "tab": "reports",
        "shelf": shelf,
        "report": shelf.report,
        "span": span,
        "figures": figures,
        "before": before,
        "in_short": summarise(figures),
        "tiles": tile_rows(figures, before),
        "columns": row_columns(figures, before),
        "days": draw_days(figures, span),
        "day_rows": list(zip(day_names(span), figures["days"], strict=True)),
        "day_bars": DAY_BARS,
        "occupancy": draw_occupancy(figures, span),
        "parts": parts if any(part.seconds for part in parts) else [],
        "seat_bar": bar,
        "may_make": member.may(Action.MAKE_REPORT),
    }
    return render(request, "figures/report.html", context)


@require_safe
@for_members()
def download_csv(request: HttpRequest, job_id: UUID, week: str) -> HttpResponse:
    """Return the numbers of one week's report as CSV."""
    _, job = own_job(request, job_id)
    found = _read_week(job, week).report
    rows = csv_rows(found.figures["week"], found.figures["before"])
    response = HttpResponse(
        "".join(formatted_csv_lines(CSV_COLUMNS, rows)), content_type=TYPES["csv"]
    )
    name = f"{slugify(job.posting.title)[:60] or 'job'}-week-{found.week}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_members(Action.MAKE_REPORT)
def make(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Start making a week's report in the background, by default for the last whole week."""
    member, job = own_job(request, job_id, Action.MAKE_REPORT)
    payload = {"job_id": str(job.id), "zone": timezone.get_current_timezone_name()}
    if week := _parse_week(request.POST.get("week", "")):
        payload["week"] = week.isoformat()
    if not reports.is_being_made(reports.read_last_task(job.company_id, job.id)):
        try:
            start_tasks(
                company_id=job.company_id,
                producer=f"member:{member.user.id}",
                requests=[TaskRequest(KEY, payload)],
            )
        except (TaskError, WorkError) as error:
            messages.error(request, str(error))
    return redirect("reports", job_id=job.id)


@require_POST
@for_members(Action.MANAGE_SCHEDULES)
def change_schedule(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Start or stop creating the report every Monday at 08:00."""
    member, job = own_job(request, job_id, Action.MANAGE_SCHEDULES)
    actor = f"member:{member.user.id}"
    try:
        if request.POST.get("do") == "stop":
            reports.delete_schedule(job.company_id, job.id, actor=actor)
            done = "Reports are no longer created on Mondays. Existing reports stay here."
        else:
            reports.schedule_weekly(job, zone=timezone.get_current_timezone_name(), actor=actor)
            done = "A report on the past week is created every Monday."
        messages.success(request, done)
    except (TaskError, WorkError) as error:
        messages.error(request, str(error))
    return redirect("reports", job_id=job.id)


def _read_week(job: Job, week: str) -> ReportWithNeighbours:
    """Return the report of the week in the URL. Raises Http404."""
    monday = _parse_week(week)
    shelf = reports.read(job.id, monday) if monday else None
    if shelf is None:
        raise Http404
    return shelf


def _parse_week(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None
