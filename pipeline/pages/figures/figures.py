"""Page with a job's charts and numbers."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipeline.figures import idle_seats
from pipeline.figures.idle_seats import USUAL_WEEKS
from pipeline.figures.job import read_totals
from pipeline.figures.review_pace import read_review_pace
from pipeline.figures.series import MOST_EVENTS, read_series
from pipeline.pages import occupancy_chart
from pipeline.pages.access import for_members, own_job
from pipeline.pages.figures.idle_seats import build_ledger_context
from pipeline.pages.figures.job_charts import (
    draw_answers,
    draw_hours,
    draw_seat_time,
    draw_waits,
    wait_groups,
)
from pipeline.pages.time_limit import time_limited
from pipeline.wording.explanations import describe_target

RANGES: dict[str, tuple[str, timedelta | None]] = {
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
    "all": ("All time", None),
}
USUAL = "7d"
NO_CHARTS = (
    "Open the job to see how full its seats are, how long people wait for an offer, how quickly"
    " they confirm it, when deadlines are missed, and why seats stay free."
)


@require_safe
@for_members()
@time_limited
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show charts over a chosen period, and the numbers of the job's whole life."""
    _, job = own_job(request, job_id)
    chosen = request.GET.get("range", USUAL)
    chosen = chosen if chosen in RANGES else USUAL
    zone_name = timezone.get_current_timezone_name()
    series = read_series(job, back=RANGES[chosen][1], zone=zone_name)
    zone = timezone.get_current_timezone()
    parts, bar = draw_seat_time(series.seat_time)
    numbers = read_totals(job.id) if job.seq <= MOST_EVENTS else None
    rate = numbers.acknowledgment_rate if numbers else None
    clock = job.review_clock
    context = {
        "pace": read_review_pace(job),
        "aim": clock and describe_target(clock.target_seconds, works=clock.hours is not None),
        **build_ledger_context(idle_seats.read_job(job, weeks=USUAL_WEEKS, zone=zone_name)),
        "job": job,
        "tab": "figures",
        "ranges": [(key, words) for key, (words, _) in RANGES.items()],
        "chosen": chosen,
        "no_charts": NO_CHARTS,
        "series": series,
        "most_events": MOST_EVENTS,
        "figures": numbers,
        "rate": "" if rate is None else f"{rate * 100:.0f}%",
        "occupancy": occupancy_chart.draw(series.points, series.start, series.end, zone),
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
