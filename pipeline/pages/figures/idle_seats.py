"""Ledger of idle seats on pages: the company's page, chart and rows for it and for a job."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipeline.domain.permissions import Action
from pipeline.figures import idle_seats
from pipeline.figures.idle_seats import MOST_JOBS, USUAL_WEEKS, IdleSeats
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.pages.charts import Chart, ChartBar, ChartTick, count_ticks
from pipeline.pages.time_limit import time_limited

# Classes and labels of the causes, in the order of the columns.
CAUSES = {
    "missed": "Not answered",
    "cooldown": "Cool-downs and “not now”",
    "nobody": "Nobody waiting",
    "paused": "Paused",
}
GROUP_SHARE = 0.72  # share of a week's place that its bars fill
_HOUR = 3_600


@require_safe
@for_members()
@time_limited
def show(request: HttpRequest) -> HttpResponse:
    """Show the seat time that the company's jobs lost, by week and by job."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    zone = timezone.get_current_timezone_name()
    found = idle_seats.read_company(member.company.id, weeks=USUAL_WEEKS, zone=zone)
    context = {
        **build_ledger_context(found),
        "member": member,
        "most_jobs": MOST_JOBS,
        "idle_jobs": sorted(found.jobs, key=lambda row: row[1].lost, reverse=True),
    }
    return render(request, "figures/idle_seats.html", context)


def build_ledger_context(found: IdleSeats) -> dict[str, Any]:
    """Return the context of the ledger's chart and table."""
    return {"idle": found, "idle_causes": CAUSES, "idle_chart": _draw_hours(found)}


def _draw_hours(found: IdleSeats) -> Chart | None:
    """Draw the hours lost per week and cause, or None if none are."""
    hours = [
        [getattr(ledger, cause).total_seconds() / _HOUR for cause in CAUSES]
        for _, ledger in found.weeks
    ]
    highest = max((max(week) for week in hours), default=0)
    if not highest:
        return None
    top, y = count_ticks(highest)
    place = 1 / len(hours)
    wide = place * GROUP_SHARE / len(CAUSES)
    bars = []
    for number, ((week, _), lost) in enumerate(zip(found.weeks, hours, strict=True)):
        start = number * place + place * (1 - GROUP_SHARE) / 2
        for index, ((kind, words), amount) in enumerate(zip(CAUSES.items(), lost, strict=True)):
            label = f"Week of {week.monday.day} {week.monday:%b}, {words}: {amount:,.1f} h"
            bars.append(ChartBar(start + index * wide, wide * 0.88, amount / top, label, kind))
    return Chart(
        ident="idle",
        title="Seat hours lost, by cause",
        description="Hours times seats in each week.",
        x=[
            ChartTick(
                (number + 0.5) * place,
                f"{week.monday.day} {week.monday:%b}",
                wide_only=number % 2 == 1,
            )
            for number, (week, _) in enumerate(found.weeks)
        ],
        y=y,
        bars=bars,
    )
