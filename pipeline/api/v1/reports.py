"""Weekly reports of a job, made by `report.weekly`, in the API's own words."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import JobStatus
from pipeline.api.auth import caller_of, own_job
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_place, page_limit, paginated, refuse_parameter
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.domain.permissions import Action
from pipeline.figures import reports
from pipeline.models import WeeklyReport
from pipeline.selectors.pages import encode_cursor


class SpreadOut(TypedDict):
    """Durations in seconds: their number, median and 90th percentile."""

    count: Count
    median: float | None
    p90: float | None


class SeatSecondsOut(TypedDict):
    """Seconds times seats, by what the seats were used for."""

    review: float
    offered: float
    nobody: float
    cooldown: float
    paused: float


class IdleSeatsOut(TypedDict):
    """Seconds times seats: in use, and lost by cause."""

    used: float
    missed: float
    cooldown: float
    nobody: float
    paused: float


class ReportDayOut(TypedDict):
    """Counts of one day."""

    applied: Count
    offered: Count
    acknowledged: Count
    missed: Count


class ReportWeekOut(TypedDict):
    """A job's week in numbers. `days` has seven entries, from Monday."""

    events: Count
    applied: Count
    seated: Count
    offered: Count
    promoted: Count
    acknowledged: Count
    missed: Count
    lapsed: Count
    withdrawn: Count
    closed_out: Count
    decided: dict[str, int]
    people_waiting_at_start: Count
    people_waiting_at_end: Count
    seats_held_at_start: Count
    seats_held_at_end: Count
    capacity_at_end: Count
    status_at_end: Annotated[str, JobStatus]
    seconds_to_acknowledge: SpreadOut
    seconds_to_promotion: SpreadOut
    seat_seconds: SeatSecondsOut
    idle_seats: IdleSeatsOut | None
    days: list[ReportDayOut]


class WeeklyReportOut(TypedDict):
    """A job's week, from Monday to Monday in a time zone, and the week before it."""

    job_id: UUID
    week: Annotated[str, ("format", "date")]
    zone: str
    made_at: datetime
    figures: ReportWeekOut
    before: ReportWeekOut | None


class JobReports(Endpoint):
    """`/jobs/{id}/reports`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_reports",
        Tag.LINE,
        Action.READ_JOB,
        PageOf[WeeklyReportOut],
        tagged=True,
        parameters=PAGED,
        about="The task `report.weekly` makes them, once or by a schedule. A job has one report for"
        " each week: making it again replaces the first, with a new `made_at`.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a job's weekly reports, newest week first."""
        own_job(caller_of(request), job_id, Action.READ_JOB)
        place = page_cursor_place(request, str)
        before = _parse_week(place[0]) if place else None
        if place and before is None:
            refuse_parameter("cursor", _("This cursor does not belong to this list."))
        page = reports.read_page(job_id, before=before, limit=page_limit(request))
        payload = paginated(page, report_out, lambda row: encode_cursor(row.week.isoformat()))
        return answer_read(request, payload)


class OneJobReport(Endpoint):
    """`/jobs/{id}/reports/{week}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_report", Tag.LINE, Action.READ_JOB, WeeklyReportOut, tagged=True)
    def get(self, request: Request, job_id: UUID, week: str) -> Response:
        """Return a job's report for the week that begins on a Monday."""
        own_job(caller_of(request), job_id, Action.READ_JOB)
        monday = _parse_week(week)
        if monday is None or monday.weekday():
            raise NotFound
        found = reports.read(job_id, monday)
        if found is None:
            raise NotFound
        return answer_read(request, report_out(found.report))


def report_out(report: WeeklyReport) -> WeeklyReportOut:
    """Return a report."""
    before = report.figures["before"]
    return {
        "job_id": report.job_id,
        "week": report.week.isoformat(),
        "zone": report.zone,
        "made_at": report.made_at,
        "figures": _week_out(report.figures["week"]),
        "before": _week_out(before) if before else None,
    }


def _week_out(stored: dict[str, Any]) -> ReportWeekOut:
    same = (
        "events applied seated offered promoted missed lapsed withdrawn closed_out decided"
        " seat_seconds status_at_end"
    )
    renamed = {
        "acknowledged": "confirmed",
        "people_waiting_at_start": "waiting_at_start",
        "people_waiting_at_end": "waiting_at_end",
        "seats_held_at_start": "held_at_start",
        "seats_held_at_end": "held_at_end",
        "capacity_at_end": "seats_at_end",
        "seconds_to_acknowledge": "confirm_seconds",
        "seconds_to_promotion": "wait_seconds",
    }
    days = ("applied", "offered", "acknowledged", "missed")
    shown: Any = {name: stored[name] for name in same.split()}
    shown |= {name: stored[old] for name, old in renamed.items()}
    shown["idle_seats"] = stored.get("idle_seats")  # older reports have none
    shown["days"] = [dict(zip(days, day, strict=True)) for day in stored["days"]]
    return shown


def _parse_week(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None
