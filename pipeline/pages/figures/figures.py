"""Pages of figures: a job's charts and numbers, and the ledger of idle seats."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy
from django.views.decorators.http import require_safe

from jobs.models import Job
from pipeline.domain.permissions import Action
from pipeline.figures import idle_seats
from pipeline.figures.idle_seats import MOST_JOBS, USUAL_WEEKS, IdleSeats
from pipeline.figures.job import read_totals
from pipeline.figures.review_pace import read_review_pace
from pipeline.figures.series import MOST_EVENTS, read_series
from pipeline.pages import charts
from pipeline.pages.access import current_member, for_members, own_job, require_permission
from pipeline.pages.charts import Chart, ChartBar, ChartTick, count_ticks
from pipeline.pages.figures.job_charts import (
    draw_answers,
    draw_hours,
    draw_seat_time,
    draw_waits,
    wait_groups,
)
from pipeline.pages.limits import time_limited
from pipeline.wording import language
from pipeline.wording.explanations import describe_target

T = TypeVar("T")
RANGES: dict[str, tuple[Promise, timedelta | None]] = {
    "24h": (gettext_lazy("24 hours"), timedelta(hours=24)),
    "7d": (gettext_lazy("7 days"), timedelta(days=7)),
    "30d": (gettext_lazy("30 days"), timedelta(days=30)),
    "all": (gettext_lazy("All time"), None),
}
USUAL = "7d"
KEPT_SECONDS = 60
ROWS = 40  # of the table behind the chart of seats and waitlist
NO_CHARTS = gettext_lazy(
    "Open the job to see how full its seats are, how long people wait for an offer, how quickly"
    " they confirm it, when deadlines are missed, and why seats stay free."
)


@require_safe
@for_members()
@time_limited
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show charts over a chosen period, and the numbers of the job's whole life."""
    _member, job = own_job(request, job_id)
    chosen = request.GET.get("range", USUAL)
    chosen = chosen if chosen in RANGES else USUAL
    zone_name = timezone.get_current_timezone_name()
    series = _kept(
        job,
        f"{chosen}{zone_name}",
        lambda: read_series(job, back=RANGES[chosen][1], zone=zone_name),
    )
    zone = timezone.get_current_timezone()
    parts, bar = draw_seat_time(series.seat_time)
    numbers = None
    if job.seq <= MOST_EVENTS:
        numbers = _kept(job, "totals", lambda: read_totals(job.id))
    ledger = _kept(
        job,
        f"idle{zone_name}",
        lambda: idle_seats.read_job(job, weeks=USUAL_WEEKS, zone=zone_name),
    )
    rate = numbers.acknowledgment_rate if numbers else None
    clock = job.review_clock
    context = {
        "pace": read_review_pace(job),
        "aim": clock and describe_target(clock.target_seconds, works=clock.hours is not None),
        **build_ledger_context(ledger),
        "job": job,
        "tab": "figures",
        "ranges": [(key, words) for key, (words, _back) in RANGES.items()],
        "chosen": chosen,
        "no_charts": NO_CHARTS,
        "series": series,
        "point_rows": series.points[:: len(series.points) // ROWS + 1],
        "most_events": MOST_EVENTS,
        "figures": numbers,
        "rate": "" if rate is None else f"{rate * 100:.0f}%",
        "occupancy": charts.draw_occupancy(series.points, series.start, series.end, zone),
        "answers": draw_answers(series, job.policy),
        # For each tenth of the confirmations, the seconds within which they arrived.
        "answer_rows": [(n * 2, series.answers[n]) for n in range(5, 51, 5) if series.answers],
        "waits": draw_waits(series),
        "wait_rows": list(zip(wait_groups(), series.waits, strict=True)),
        "hours": draw_hours(series),
        "hour_rows": sorted(series.misses_by_hour.items()),
        "parts": parts if any(series.seat_time) else [],
        "seat_bar": bar,
    }
    return render(request, "figures/figures.html", context)


def _kept(job: Job, name: str, read: Callable[[], T]) -> T:
    """Return figures of a job that are at most KEPT_SECONDS old, and of its log as it is now.

    So another period, or the same page again, costs only what is new in it.
    """
    key = f"figures:{job.id}:{job.seq}:{job.last_event_at.timestamp()}:{name}"
    known: T | None = caches["local"].get(key)
    if known is None:
        known = read()
        caches["local"].set(key, known, KEPT_SECONDS)
    return known


# Ledger of idle seats on pages: the company's page, chart and rows for it and for a job.


# Classes and labels of the causes, in the order of the columns.
CAUSES = {
    "missed": pgettext_lazy("lost seat hours", "Not answered"),
    "cooldown": pgettext_lazy("lost seat hours", "Cool-downs and “not now”"),
    "nobody": pgettext_lazy("lost seat hours", "Nobody waiting"),
    "paused": pgettext_lazy("lost seat hours", "Paused"),
}
GROUP_SHARE = 0.72  # share of a week's place that its bars fill
_HOUR = 3_600


@require_safe
@for_members()
@time_limited
def show_idle_seats(request: HttpRequest) -> HttpResponse:
    """Show the seat time that the company's jobs lost, by week and by job."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    zone = timezone.get_current_timezone_name()
    found = idle_seats.read_company(member.company.id, weeks=USUAL_WEEKS, zone=zone)
    context = {
        **build_ledger_context(found),
        "member": member,
        "most_jobs": MOST_JOBS,
        "idle_jobs": sorted(found.jobs, key=lambda row: (-row[1].lost, row[0].posting.title)),
    }
    return render(request, "figures/idle_seats.html", context)


def build_ledger_context(found: IdleSeats) -> dict[str, Any]:
    """Return the context of the ledger's chart and table."""
    return {"idle": found, "idle_causes": CAUSES, "idle_chart": _draw_idle_hours(found)}


def _draw_idle_hours(found: IdleSeats) -> Chart | None:
    """Draw the hours lost per week and cause, or None if none are."""
    hours = [
        [getattr(ledger, cause).total_seconds() / _HOUR for cause in CAUSES]
        for _week, ledger in found.weeks
    ]
    highest = max((max(week) for week in hours), default=0)
    if not highest:
        return None
    top, y = count_ticks(highest)
    place = 1 / len(hours)
    wide = place * GROUP_SHARE / len(CAUSES)
    bars = []
    for number, ((week, _ledger), lost) in enumerate(zip(found.weeks, hours, strict=True)):
        start = number * place + place * (1 - GROUP_SHARE) / 2
        for index, ((kind, words), amount) in enumerate(zip(CAUSES.items(), lost, strict=True)):
            # Translators: the label of a bar; %(cause)s is "Nobody waiting", %(hours)s a number.
            label = _("Week of %(day)s, %(cause)s: %(hours)s h") % {
                "day": language.day(week.monday, "short"),
                "cause": words,
                "hours": f"{amount:,.1f}",
            }
            bars.append(ChartBar(start + index * wide, wide * 0.88, amount / top, label, kind))
    return Chart(
        ident="idle",
        title=_("Seat hours lost, by cause"),
        description=_("Hours times seats in each week."),
        x_title=pgettext("axis", "Week"),
        y_title=_("Seat hours"),
        x=[
            ChartTick(
                (number + 0.5) * place,
                language.day(week.monday, "short"),
                wide_only=number % 2 == 1,
            )
            for number, (week, _ledger) in enumerate(found.weeks)
        ],
        y=y,
        bars=bars,
    )
