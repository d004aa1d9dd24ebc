"""Page with a job's charts and numbers."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipeline.figures.idle_seats import USUAL_WEEKS, idle_seats_of_job
from pipeline.figures.job import totals_of_job
from pipeline.figures.series import MOST_EVENTS, job_series_of
from pipeline.pages.access import for_members, own_job
from pipeline.pages.figures.idle_seats import idle_seats_context
from pipeline.pages.figures.job_charts import (
    job_answers_chart,
    job_hours_chart,
    job_seat_time_chart,
    job_waits_chart,
    job_waits_chart_groups,
)
from pipeline.pages.occupancy_chart import job_occupancy_chart
from pipeline.pages.time_limit import time_limited

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
def figures(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show charts over a chosen period, and the numbers of the job's whole life."""
    _, job = own_job(request, job_id)
    chosen = request.GET.get("range", USUAL)
    chosen = chosen if chosen in RANGES else USUAL
    zone_name = timezone.get_current_timezone_name()
    series = job_series_of(job, back=RANGES[chosen][1], zone=zone_name)
    zone = timezone.get_current_timezone()
    parts, bar = job_seat_time_chart(series.seat_time)
    numbers = totals_of_job(job.id) if job.seq <= MOST_EVENTS else None
    rate = numbers.acknowledgment_rate if numbers else None
    context = {
        **idle_seats_context(idle_seats_of_job(job, weeks=USUAL_WEEKS, zone=zone_name)),
        "job": job,
        "tab": "figures",
        "ranges": [(key, words) for key, (words, _) in RANGES.items()],
        "chosen": chosen,
        "no_charts": NO_CHARTS,
        "series": series,
        "most_events": MOST_EVENTS,
        "figures": numbers,
        "rate": "" if rate is None else f"{rate * 100:.0f}%",
        "occupancy": job_occupancy_chart(series.points, series.start, series.end, zone),
        "answers": job_answers_chart(series, job.policy),
        # For each tenth of the confirmations, the seconds within which they arrived.
        "answer_rows": [(n * 2, series.answers[n]) for n in range(5, 51, 5) if series.answers],
        "waits": job_waits_chart(series),
        "wait_rows": list(zip(job_waits_chart_groups(), series.waits, strict=True)),
        "hours": job_hours_chart(series),
        "hour_rows": sorted(series.misses_by_hour.items()),
        "parts": parts if any(series.seat_time) else [],
        "seat_bar": bar,
    }
    return render(request, "figures/figures.html", context)
