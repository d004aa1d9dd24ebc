"""Charts of the figures page, built from a job's series."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

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
from pipeline.wording.english import joined, short_duration
from pipeline.wording.language import number as in_digits

MOST_SPANS, MOST_HOURS = 3, 6  # with the most missed deadlines, that a sentence names


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
        title=_("Time to confirm an offered seat"),
        description=_describe_answers(series, policy, reached),
        x_title=_("Time since the offer"),
        y_title=_("Offers confirmed"),
        x=duration_ticks(longest),
        y=SHARE_TICKS,
        curves=[
            straight_line(
                "held", pgettext("label", "Confirmed"), [(0.0, 0.0), *points, (1.0, reached)]
            )
        ],
        marks=[
            ChartTick(
                window_seconds / longest,
                _("window: %(duration)s") % {"duration": short_duration(window_seconds)},
            )
        ],
    )


def _describe_answers(series: Series, policy: Policy, reached: float) -> str:
    given = {
        "duration": short_duration(answers_median(series)),
        "percent": f"{reached * 100:.0f}%",
    }
    if policy.quiet_hours():
        words = _(
            "Half of the confirmations arrived within %(duration)s. In the end, %(percent)s of the"
            " offers were confirmed. Quiet hours are part of these times."
        )
    else:
        words = _(
            "Half of the confirmations arrived within %(duration)s. In the end, %(percent)s of the"
            " offers were confirmed."
        )
    return words % given


def answers_median(series: Series) -> float:
    """Return the seconds within which half of the confirmations arrived."""
    return series.answers[STEPS // 2]


def wait_groups() -> list[str]:
    """Return the names of the groups of times to the first offer."""
    words = [short_duration(edge) for edge in WAIT_EDGES]
    between = [
        pgettext("durations", "%(low)s to %(high)s") % {"low": low, "high": high}
        for low, high in pairwise(words)
    ]
    under = _("under %(duration)s") % {"duration": words[0]}
    return [under, *between, _("over %(duration)s") % {"duration": words[-1]}]


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
        title=_("Time from applying to the first offer"),
        description=ngettext(
            "%(count)s first offer, by how long people had waited.",
            "%(count)s first offers, by how long people had waited.",
            sum(counts),
        )
        % {"count": in_digits(sum(counts))},
        x_title=_("Time waited"),
        y_title=pgettext("axis", "People"),
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
    return Chart(
        ident="hours",
        title=_("Missed deadlines by hour of the day"),
        description=describe_hours(counts),
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


def describe_hours(counts: list[int]) -> str:
    """Name the hours with the most missed deadlines, if they are few."""
    most = max(counts)
    spans: list[list[int]] = []
    for hour in (hour for hour, count in enumerate(counts) if count == most):
        if spans and spans[-1][1] == hour:
            spans[-1][1] = hour + 1
        else:
            spans.append([hour, hour + 1])
    if len(spans) > MOST_SPANS or sum(end - start for start, end in spans) > MOST_HOURS:
        words = ngettext(
            "No hour stands out: none had more than %(count)s missed deadline.",
            "No hour stands out: none had more than %(count)s missed deadlines.",
            most,
        )
        return words % {"count": in_digits(most)}
    times = [(f"{start:02}:00", f"{end % 24:02}:00") for start, end in spans]
    if len(times) == 1:
        [(start, end)] = times
        words = _("Most deadlines were missed between %(start)s and %(end)s.")
        return words % {"start": start, "end": end}
    each = pgettext("clock", "%(start)s to %(end)s")
    hours = joined([each % {"start": start, "end": end} for start, end in times])
    return _("Most deadlines were missed in these hours: %(hours)s.") % {"hours": hours}


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
        "review": _("In review"),
        "offered": _("Offered, not confirmed yet"),
        "nobody": _("Free: nobody was waiting"),
        "cooldown": _("Free: everyone waiting was in a cool-down or asked to wait"),
        "paused": _("Free: the job was paused"),
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
