"""Weekly reports of a job: list, page with charts, CSV file, and the actions to make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.functional import Promise
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, npgettext, pgettext, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job
from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.figures import reports
from pipeline.figures.reports import KEY, ReportWithNeighbours
from pipeline.figures.series import DAYS, Point, SeatTime, Week
from pipeline.files.exports import TYPES, formatted_csv_lines
from pipeline.pages import charts
from pipeline.pages.access import for_members, own_job
from pipeline.pages.charts import Chart, ChartBar, ChartTick, count_ticks
from pipeline.pages.figures.job_charts import JobSeatTimePart, draw_seat_time
from pipeline.pages.live_page import live_page
from pipeline.wording import language
from pipeline.wording.english import short_duration
from pipeline.wording.language import in_a_row
from pipeline.wording.language import number as in_digits
from pipeline.work.start import TaskRequest, WorkError, start_tasks
from tasks.errors import TaskError
from tasks.models import Status

PAGE = 26  # half a year
CHOICES = 12  # past weeks for which the page offers a report
LIST_COLUMNS = {
    "applied": pgettext_lazy("label", "Applied"),
    "offered": pgettext_lazy("label", "Offered"),
    "confirmed": pgettext_lazy("label", "Confirmed"),
    "missed": pgettext_lazy("label", "Missed"),
    "decided": pgettext_lazy("label", "Decided"),
}
NO_REPORTS = gettext_lazy(
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
    cells: list[tuple[Promise, str]]


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
    _member, job = own_job(request, job_id)
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
            done = _("Reports are no longer created on Mondays. Existing reports stay here.")
        else:
            reports.schedule_weekly(job, zone=timezone.get_current_timezone_name(), actor=actor)
            done = _("A report on the past week is created every Monday.")
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


# Charts of a weekly report, built from its figures. Pure.


# Classes and labels of a day's bars, in the order of the day's numbers.
DAY_BARS = {
    "applied": pgettext_lazy("label", "Applied"),
    "offered": pgettext_lazy("label", "Offered"),
    "held": pgettext_lazy("label", "Confirmed"),
    "miss": pgettext_lazy("label", "Missed"),
}
GROUP_SHARE = 0.72  # share of a day's place that its bars fill


def day_names(week: Week) -> list[str]:
    """Return short names of a week's days: Mon 9 Nov."""
    return [language.day(day, "short weekday") for day in week.days[:DAYS]]


def draw_days(figures: dict[str, Any], week: Week) -> Chart | None:
    """Draw four counts per day, or None if all are zero."""
    highest = max(max(day) for day in figures["days"])
    if not highest:
        return None
    top, y = count_ticks(highest)
    place = 1 / DAYS
    wide = place * GROUP_SHARE / len(DAY_BARS)
    bars = []
    for number, (day, name) in enumerate(zip(figures["days"], day_names(week), strict=True)):
        start = number * place + place * (1 - GROUP_SHARE) / 2
        for index, ((kind, words), number_of) in enumerate(zip(DAY_BARS.items(), day, strict=True)):
            # Translators: the label of a bar: a day, "Applied", and a number.
            label = _("%(day)s, %(figure)s: %(count)s") % {
                "day": name,
                "figure": words,
                "count": in_digits(number_of),
            }
            bars.append(ChartBar(start + index * wide, wide * 0.88, number_of / top, label, kind))
    return Chart(
        ident="days",
        title=_("Day by day"),
        description=_("Applications, offers, confirmations and missed deadlines on each day."),
        x_title=pgettext("axis", "Day"),
        y_title=pgettext("axis", "Number"),
        x=[
            ChartTick((number + 0.5) / DAYS, f"{day:%a} {day.day}", wide_only=number % 2 == 1)
            for number, day in enumerate(week.days[:DAYS])
        ],
        y=y,
        bars=bars,
    )


def draw_occupancy(figures: dict[str, Any], week: Week) -> Chart:
    """Draw seats and waitlist over the week."""
    points = [Point(datetime.fromisoformat(at), *row) for at, *row in figures["points"]]
    return charts.draw_occupancy(points, week.start, week.end, ZoneInfo(week.zone))


def draw_spent_time(
    figures: dict[str, Any],
) -> tuple[list[JobSeatTimePart], list[ChartBar]]:
    """Split the week's seat time into parts, and build the bar that shows them."""
    return draw_seat_time(SeatTime(**figures["seat_seconds"]))


# Weekly report as rows of labelled numbers: for the table, the tiles and the CSV file. Pure.


WeekFigures = dict[str, Any]  # as counted by `pipeline.figures.series.read_week`

LESS, MORE = "\N{MINUS SIGN}", "+"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class WeekRow:
    """Number of the week and of the week before; None where there is none."""

    key: str
    label: Promise
    is_time: bool  # in seconds; else a count
    value: float | None
    before: float | None
    is_part: bool = False  # of the number above

    @property
    def shown(self) -> str:
        """Number of the week, formatted."""
        return self._words(self.value)

    @property
    def previous_week_text(self) -> str:
        """Number of the week before, formatted."""
        return self._words(self.before)

    @property
    def change(self) -> str:
        """Difference to the week before, formatted; empty if either number is missing."""
        if self.value is None or self.before is None:
            return ""
        difference = round(self.value) - round(self.before)
        if not difference:
            return "same"
        return (MORE if difference > 0 else LESS) + self._words(abs(difference))

    def _words(self, number: float | None) -> str:
        if number is None:
            return NOTHING
        return short_duration(number) if self.is_time else f"{number:,.0f}"


@dataclass(frozen=True, slots=True)
class _WeekNumber:
    key: str
    label: Promise
    of: Callable[[WeekFigures], float | None]
    is_time: bool = False
    is_part: bool = False

    def row(self, week: WeekFigures, before: WeekFigures | None) -> WeekRow:
        then = self.of(before) if before else None
        return WeekRow(self.key, self.label, self.is_time, self.of(week), then, self.is_part)


def _count(key: str, label: Promise, *, is_part: bool = False) -> _WeekNumber:
    return _WeekNumber(key, label, lambda figures: figures[key], is_part=is_part)


def _decided(outcome: str, label: Promise) -> _WeekNumber:
    key = f"decided_{outcome.lower()}"
    return _WeekNumber(key, label, lambda figures: figures["decided"].get(outcome, 0))


def _part(group: str, part: str, label: Promise) -> _WeekNumber:
    return _WeekNumber(f"{part}_{group}", label, lambda figures: figures[group][part], is_time=True)


# All numbers of a report, by topic. The names of the topics stand in the CSV file.
GROUPS: dict[str, tuple[_WeekNumber, ...]] = {
    "People": (
        _count("applied", pgettext_lazy("label", "Applied")),
        _count("seated", gettext_lazy("of whom went straight into review"), is_part=True),
        _count("waiting_at_start", gettext_lazy("Waiting at the start")),
        _count("waiting_at_end", gettext_lazy("Waiting at the end")),
        _count("withdrawn", pgettext_lazy("label", "Withdrew")),
        _count("closed_out", gettext_lazy("Released because the job closed")),
    ),
    "Offers": (
        _count("offered", gettext_lazy("Seats offered")),
        _count("promoted", gettext_lazy("of which to people waiting"), is_part=True),
        _count("confirmed", pgettext_lazy("label", "Confirmed")),
        _count("missed", gettext_lazy("Deadlines missed")),
        _count("lapsed", gettext_lazy("of which ended the application"), is_part=True),
        _part("confirm_seconds", "median", gettext_lazy("Time to confirm, median")),
        _part("confirm_seconds", "p90", gettext_lazy("Time to confirm, nine of ten")),
        _part("wait_seconds", "median", gettext_lazy("Wait for an offer, median")),
        _part("wait_seconds", "p90", gettext_lazy("Wait for an offer, nine of ten")),
    ),
    "Your decisions": (
        _decided("HIRED", pgettext_lazy("label", "Hired")),
        _decided("REJECTED", gettext_lazy("Not selected")),
        _decided("REMOVED", pgettext_lazy("label", "Removed")),
    ),
    "Seats": (
        _count("held_at_start", gettext_lazy("Taken at the start")),
        _count("held_at_end", gettext_lazy("Taken at the end")),
        _count("seats_at_end", gettext_lazy("Seats at the end")),
        _part("seat_seconds", "review", gettext_lazy("Seat time in review")),
        _part("seat_seconds", "offered", gettext_lazy("Seat time on offer")),
        _part("seat_seconds", "nobody", gettext_lazy("Free, nobody was waiting")),
        _part(
            "seat_seconds",
            "cooldown",
            gettext_lazy("Free, everyone waiting in a cool-down or “not now”"),
        ),
        _part("seat_seconds", "paused", gettext_lazy("Free, the job was paused")),
        _WeekNumber(
            "missed_idle_seats",
            gettext_lazy("Lost to people who did not answer"),
            lambda figures: (figures.get("idle_seats") or {}).get("missed"),
            is_time=True,
        ),
    ),
}

GROUP_LABELS = {
    "People": pgettext_lazy("label", "People"),
    "Offers": pgettext_lazy("label", "Offers"),
    "Your decisions": gettext_lazy("Your decisions"),
    "Seats": pgettext_lazy("label", "Seats"),
}
COLUMNS = (("People", "Seats"), ("Offers", "Your decisions"))  # side by side on wide screens
TILES = ("applied", "offered", "confirmed", "missed", "decided", "waiting_at_end")


def row_groups(week: WeekFigures, before: WeekFigures | None) -> list[tuple[str, list[WeekRow]]]:
    """Return all rows of a report, by group."""
    return [
        (name, [number.row(week, before) for number in numbers]) for name, numbers in GROUPS.items()
    ]


def row_columns(
    week: WeekFigures, before: WeekFigures | None
) -> list[list[tuple[Promise, list[WeekRow]]]]:
    """Return all rows of a report, by column and group."""
    groups = dict(row_groups(week, before))
    return [[(GROUP_LABELS[name], groups[name]) for name in names] for names in COLUMNS]


def tile_rows(week: WeekFigures, before: WeekFigures | None) -> list[WeekRow]:
    """Return the most important numbers of a report."""
    known = {number.key: number for numbers in GROUPS.values() for number in numbers}
    known["decided"] = _WeekNumber(
        "decided", gettext_lazy("You decided"), lambda f: sum(f["decided"].values())
    )
    return [known[key].row(week, before) for key in TILES]


def csv_rows(week: WeekFigures, before: WeekFigures | None) -> list[dict[str, Any]]:
    """Return the rows of the CSV file: counts, and times in seconds to the millisecond."""
    return [
        {
            "group": name,
            "figure": row.key,
            "unit": "seconds" if row.is_time else "count",
            "week": _plain_number(row.value),
            "week_before": _plain_number(row.before),
        }
        for name, rows in row_groups(week, before)
        for row in rows
    ]


def _plain_number(number: float | None) -> float | None:
    return number if number is None or isinstance(number, int) else round(number, 3)


def summarise(figures: WeekFigures) -> str:
    """Summarize the week in one or two sentences."""
    said = [_summarise_offers(figures)]
    cooldown, nobody = (figures["seat_seconds"][part] for part in ("cooldown", "nobody"))
    if cooldown >= 1:
        words = _("Seats stood free for %(duration)s because nobody waiting could take them.")
        said.append(words % {"duration": short_duration(cooldown)})
    elif nobody >= 1:
        words = _("Seats stood free for %(duration)s, but nobody was waiting.")
        said.append(words % {"duration": short_duration(nobody)})
    return in_a_row(*said)


def _summarise_offers(figures: WeekFigures) -> str:
    applied, offered = figures["applied"], figures["offered"]
    confirmed, missed = figures["confirmed"], figures["missed"]
    said = {
        "applied": _counted(
            applied,
            ngettext("%(count)s person applied", "%(count)s people applied", applied),
            none=_("No people applied"),
        ),
        "offered": _counted(
            offered,
            ngettext("%(count)s seat was offered", "%(count)s seats were offered", offered),
            none=_("no seats were offered"),
        ),
    }
    if not (confirmed or missed):
        # Translators: clauses, like "5 people applied" and "3 seats were offered".
        return _("%(applied)s and %(offered)s.") % said
    said |= {
        "confirmed": _counted(
            confirmed,
            npgettext("seats", "%(count)s was confirmed", "%(count)s were confirmed", confirmed),
            none=pgettext("seats", "none were confirmed"),
        ),
        "missed": _counted(
            missed,
            ngettext("%(count)s deadline was missed", "%(count)s deadlines were missed", missed),
            none=_("no deadlines were missed"),
        ),
    }
    # Translators: clauses, like "5 people applied", "3 seats were offered", "2 were confirmed",
    # "1 deadline was missed".
    return _("%(applied)s and %(offered)s; %(confirmed)s, and %(missed)s.") % said


def _counted(number: int, words: str, *, none: str) -> str:
    return words % {"count": in_digits(number)} if number else none
