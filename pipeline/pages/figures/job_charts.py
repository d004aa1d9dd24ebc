"""Charts of the figures page, built from a job's series."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext as _

from jobs.policies import Policy
from pipeline.figures.series import STEPS, WAIT_EDGES, SeatTime, Series
from pipeline.pages.charts import (
    SHARE_TICKS,
    Chart,
    ChartBar,
    ChartTick,
    build_bars,
    count_ticks,
    duration_ticks,
    straight_line,
)
from pipeline.wording.english import short_duration


def draw_answers(series: Series, policy: Policy) -> Chart | None:
    """Draw the share of offers confirmed over the time since the offer; None without offers."""
    if not series.answers:
        return None
    window_seconds = policy.acknowledgment_window_seconds
    longest = max(window_seconds * 1.06, series.answers[-1] * 1.02)
    reached = series.answered / (series.answered + series.missed)
    quantiles = enumerate(series.answers)
    points = [(s / longest, step / STEPS * reached) for step, s in quantiles]
    return Chart(
        ident="answers",
        title="Time to confirm an offered seat",
        description=(
            "Half of the confirmations arrived within"
            f" {short_duration(answers_median(series))}."
            f" In the end, {reached * 100:.0f}% of the offers were confirmed."
            + " Quiet hours are part of these times."
            * bool(policy.quiet_hours())
        ),
        x_title=_("Time since the offer"),
        y_title=_("Offers confirmed"),
        x=duration_ticks(longest),
        y=SHARE_TICKS,
        curves=[straight_line("held", "Confirmed", [(0.0, 0.0), *points, (1.0, reached)])],
        marks=[ChartTick(window_seconds / longest, f"window: {short_duration(window_seconds)}")],
    )


def answers_median(series: Series) -> float:
    """Return the seconds within which half of the confirmations arrived."""
    return series.answers[STEPS // 2]


def wait_groups() -> list[str]:
    """Return the names of the groups of times to the first offer."""
    words = [short_duration(edge) for edge in WAIT_EDGES]
    between = [f"{low} to {high}" for low, high in pairwise(words)]
    return [f"under {words[0]}", *between, f"over {words[-1]}"]


def draw_waits(series: Series) -> Chart | None:
    """Draw first offers by the time people had waited, or None without offers."""
    if not any(series.waits):
        return None
    filled = [index for index, count in enumerate(series.waits) if count]
    first, last = max(0, filled[0] - 1), min(len(series.waits) - 1, filled[-1] + 1)
    counts, names = series.waits[first : last + 1], wait_groups()[first : last + 1]
    top, y = count_ticks(max(counts))
    edges = WAIT_EDGES[first:last]
    return Chart(
        ident="waits",
        title="Time from applying to the first offer",
        description=f"{sum(counts):,} first offers, by how long people had waited.",
        x_title=_("Time waited"),
        y_title=_("People"),
        x=[
            ChartTick((n + 1) / len(counts), short_duration(edge), wide_only=n % 2 == 1)
            for n, edge in enumerate(edges)
        ],
        y=y,
        bars=build_bars(counts, [f"{n}: {c:,}" for n, c in zip(names, counts, strict=True)], top),
    )


def draw_hours(series: Series) -> Chart | None:
    """Draw missed deadlines by the hour of the day, or None without any."""
    counts = [series.misses_by_hour.get(hour, 0) for hour in range(24)]
    if not any(counts):
        return None
    top, y = count_ticks(max(counts))
    worst = counts.index(max(counts))
    return Chart(
        ident="hours",
        title="Missed deadlines by hour of the day",
        description=(
            f"Most deadlines were missed between {worst:02}:00 and {(worst + 1) % 24:02}:00."
        ),
        x_title=_("Hour of the deadline"),
        y_title=_("Deadlines missed"),
        x=[
            ChartTick(n / 24, f"{n:02}:00", wide_only=n % 6 != 0) for n in range(0, 25, 3) if n < 24
        ],
        y=y,
        bars=build_bars(
            counts, [f"{h:02}:00: {c:,}" for h, c in enumerate(counts)], top, kind="miss"
        ),
    )


@dataclass(frozen=True, slots=True)
class JobSeatTimePart:
    """Part of the total seat time, in seconds and as a share."""

    kind: str
    label: str
    seconds: float
    share: float

    @property
    def percent(self) -> str:
        """Share as a percentage."""
        return f"{self.share * 100:.1f}%"


def draw_seat_time(spent: SeatTime) -> tuple[list[JobSeatTimePart], list[ChartBar]]:
    """Split the seat time into parts, and build the bar that shows them."""
    words = {
        "review": "In review",
        "offered": "Offered, not confirmed yet",
        "nobody": "Free: nobody was waiting",
        "cooldown": "Free: everyone waiting was in a cool-down or asked to wait",
        "paused": "Free: the job was paused",
    }
    whole = sum(spent) or 1.0
    parts = [
        JobSeatTimePart(kind, label, seconds, seconds / whole)
        for (kind, label), seconds in zip(words.items(), spent, strict=True)
    ]
    start, drawn = 0.0, []
    for part in parts:
        drawn.append(ChartBar(start, part.share, 1, f"{part.label}: {part.percent}", part.kind))
        start += part.share
    return parts, drawn
