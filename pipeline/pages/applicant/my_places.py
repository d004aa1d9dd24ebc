"""Page of an applicant's place in line over time: a picture, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipeline.domain.states import EventType
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.charts import (
    Chart,
    ChartTick,
    chart_steps,
    chart_ticks_of_count,
    chart_ticks_of_time,
)
from pipeline.pages.time_limit import time_limited
from pipeline.selectors.jobs import read_job
from pipeline.stats.position_history import MOST_EVENTS, PositionStep, position_history_of
from pipeline.wording.event_words import EVENT_WORDS, NO_PASS_WORDS

# The most points of the picture, and the most rows of the table, newest first.
POINTS, ROWS = 400, 200
# The most of one's own events that the picture names.
MARKS = 6


@require_safe
@for_applicants
@time_limited
def my_places(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show where the application stood in line, from applying until now."""
    _, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    steps = [] if card.job.awaits_draw else position_history_of(seen.application)
    context = {
        "card": card,
        "is_too_long": steps is None,
        "most_events": MOST_EVENTS,
        "chart": my_places_chart(steps or [], seen.now),
        "rows": [
            (step.at, step.position, _words_of_step(step) if step.event else "Others moved")
            for step in reversed((steps or [])[-ROWS:])
        ],
        "more_rows": len(steps or []) > ROWS,
    }
    return render(request, "applicant/my_places.html", context)


def my_places_chart(steps: Sequence[PositionStep], now: datetime) -> Chart | None:
    """Draw the position over time, with first place at the top; None if there never was one."""
    placed = [step for step in steps if step.position]
    if not placed:
        return None
    start, end = steps[0].at, max(now, steps[-1].at)
    whole = max((end - start).total_seconds(), 1)
    worst = max(step.position or 0 for step in placed)
    top, ticks = chart_ticks_of_count(worst)
    every = max(1, len(steps) // POINTS)
    shown = [step for number, step in enumerate(steps) if step.event or number % every == 0]
    points = [
        ((step.at - start).total_seconds() / whole, 1 - (step.position or 0) / top)
        for step in shown
    ]
    own = [step for step in steps if step.event][-MARKS:]
    last = placed[-1].position or 0
    best = min(step.position or 0 for step in placed)
    return Chart(
        ident="places",
        title="Your place in line over time",
        description=(
            f"Best place {best:,}, worst {worst:,}, latest {last:,}. The line is at the top when"
            " you had no place."
        ),
        x=chart_ticks_of_time(start, end, timezone.get_current_timezone()),
        y=[ChartTick(1 - tick.at, tick.label) for tick in ticks],
        curves=[chart_steps("waiting", "Place", [*points, (1.0, points[-1][1])], area=False)],
        marks=[
            ChartTick(
                (step.at - start).total_seconds() / whole,
                _words_of_step(step) if step is own[-1] else "",
            )
            for step in own
        ],
    )


def _words_of_step(step: PositionStep) -> str:
    words = NO_PASS_WORDS if step.took_back else EVENT_WORDS[EventType(step.event)]
    return words.applicant
