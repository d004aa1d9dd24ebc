"""Charts as plain numbers, which the template draws as SVG. Pure.

Horizontal places are percentages, so that a chart fills the available width while its text keeps
its size. Lines are drawn in a box of WIDTH by HEIGHT, which is stretched to that width. Colours
come from the CSS classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from pipeline.figures.series import Point
from pipeline.wording import language
from pipeline.wording.english import single_unit_duration
from pipeline.wording.language import in_a_row
from pipeline.wording.language import number as in_digits

WIDTH, HEIGHT = 1_000, 200  # box of the lines, in its own units; the height is also in pixels
TOP = 34  # pixels above the box, for the title of the axis and the labels of marks
BELOW = 44  # pixels below the box, for the labels and the title of the axis
BAR_SHARE = 0.76  # share of its place that a bar fills


@dataclass(frozen=True, slots=True)
class ChartTick:
    """Label on an axis, at a place from 0 (left, bottom) to 1 (right, top)."""

    at: float
    label: str
    wide_only: bool = False  # left out on narrow screens

    @property
    def x(self) -> str:
        """Horizontal place, as a percentage."""
        return percent(self.at)

    @property
    def y(self) -> float:
        """Vertical place, in pixels from the top."""
        return round(TOP + (1 - self.at) * HEIGHT, 1)

    @property
    def text_y(self) -> float:
        """Baseline of the label, in pixels from the top."""
        return self.y + 4

    @property
    def anchor(self) -> str:
        """SVG text anchor that keeps the label inside the chart."""
        if self.at < 0.04:
            return "start"
        return "end" if self.at > 0.96 else "middle"


@dataclass(frozen=True, slots=True)
class Curve:
    """Line of a chart. `kind` is its class; `path` and `area` use the units of the box."""

    kind: str
    label: str
    path: str
    area: str = ""


@dataclass(frozen=True, slots=True)
class ChartBar:
    """Bar with start and width as shares of the chart's width, and a height from 0 to 1."""

    start: float
    width: float
    height: float
    label: str
    kind: str = ""

    @property
    def x(self) -> str:
        """Left edge, as a percentage."""
        return percent(self.start)

    @property
    def wide(self) -> str:
        """Width, as a percentage."""
        return percent(self.width)

    @property
    def pixels(self) -> float:
        """Height in pixels; any value above zero is visible."""
        return round(max(2.0, self.height * HEIGHT), 1) if self.height else 0

    @property
    def y(self) -> float:
        """Top edge, in pixels from the top of the chart."""
        return round(TOP + HEIGHT - self.pixels, 1)


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart with its axes, its marks and a description in words."""

    ident: str
    title: str
    description: str
    x_title: str
    y_title: str
    x: list[ChartTick]
    y: list[ChartTick]
    curves: list[Curve] = field(default_factory=list)
    bars: list[ChartBar] = field(default_factory=list)
    marks: list[ChartTick] = field(default_factory=list)  # labelled vertical lines

    @property
    def top(self) -> int:
        """Top of the box, in pixels."""
        return TOP

    @property
    def bottom(self) -> int:
        """Bottom of the box, in pixels."""
        return TOP + HEIGHT

    @property
    def height(self) -> int:
        """Total height in pixels, including the labels below."""
        return TOP + HEIGHT + BELOW

    @property
    def words_y(self) -> int:
        """Baseline of the labels below, in pixels."""
        return TOP + HEIGHT + 19

    @property
    def x_title_y(self) -> int:
        """Baseline of the title of the axis below, in pixels."""
        return self.height - 7

    @property
    def marks_y(self) -> int:
        """Baseline of the labels of marks, in pixels."""
        return TOP - 6

    @property
    def box(self) -> str:
        """Box of the lines, as an SVG viewBox."""
        return f"0 0 {WIDTH} {HEIGHT}"


def percent(share: float) -> str:
    """Format a share as an SVG percentage."""
    return f"{share * 100:.2f}%"


def stepped_line(
    kind: str, label: str, points: Sequence[tuple[float, float]], *, area: bool
) -> Curve:
    """Build a stepped line; points run from 0 to 1 on both axes."""
    (x, y), *rest = [(px * WIDTH, (1 - py) * HEIGHT) for px, py in points]
    path = f"M{x:.1f},{y:.1f}" + "".join(f"H{px:.1f}V{py:.1f}" for px, py in rest)
    end = rest[-1][0] if rest else x
    return Curve(kind, label, path, f"{path}V{HEIGHT}H{x:.1f}Z" if area and end > x else "")


def straight_line(kind: str, label: str, points: Iterable[tuple[float, float]]) -> Curve:
    """Build a straight line through the points, filled below."""
    placed = [(px * WIDTH, (1 - py) * HEIGHT) for px, py in points]
    path = "M" + "L".join(f"{px:.1f},{py:.1f}" for px, py in placed)
    return Curve(kind, label, path, f"{path}V{HEIGHT}H{placed[0][0]:.1f}Z")


def build_bars(
    numbers: Sequence[int], labels: Sequence[str], top: float, *, kind: str = ""
) -> list[ChartBar]:
    """Build one bar per number across the whole width; `top` is the end of the axis."""
    place = 1 / len(numbers)
    gap = place * (1 - BAR_SHARE) / 2
    return [
        ChartBar(index * place + gap, place * BAR_SHARE, number / top, label, kind)
        for index, (number, label) in enumerate(zip(numbers, labels, strict=True))
    ]


def count_ticks(highest: float) -> tuple[float, list[ChartTick]]:
    """Return the end of an axis of counts and its labels: round numbers, at most five."""
    rough = max(1.0, highest / 4)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    top = step * max(1, math.ceil(highest / step))
    numbers = range(0, int(top) + 1, int(step))
    return top, [ChartTick(number / top, in_digits(number)) for number in numbers]


SHARE_TICKS = [ChartTick(part / 4, f"{part * 25}%") for part in range(5)]

_SPANS = (1, 5, 15, 30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)


def duration_ticks(longest_seconds: float, *, most: int = 6) -> list[ChartTick]:
    """Return round labels for an axis of durations that begins at 0."""
    days = (86_400 * n for n in (2, 5, 10, 20, 50, 100, 1_000))
    step = next(s for s in (*_SPANS, *days) if longest_seconds / s <= most)
    count = int(longest_seconds // step)
    return [
        ChartTick(
            index * step / longest_seconds,
            single_unit_duration(index * step),
            wide_only=index % 2 == 1,
        )
        for index in range(count + 1)
    ]


_STEPS = (
    *(timedelta(minutes=n) for n in (1, 5, 10, 15, 30)),
    *(timedelta(hours=n) for n in (1, 2, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 2, 7, 14, 30, 60, 120, 365, 1_000, 10_000)),
)


def time_ticks(start: datetime, end: datetime, zone: tzinfo, *, most: int = 7) -> list[ChartTick]:
    """Return labels at round times of the given zone."""
    whole = max(end - start, timedelta(minutes=1))
    step = next(s for s in _STEPS if whole / s <= most)

    def chart_tick_label(moment: datetime) -> str:
        if step.days or not (moment.hour or moment.minute):
            return language.day(moment.date(), "short")
        return f"{moment:%H:%M}"

    # By the local clock: a day runs from midnight to midnight.
    today = start.astimezone(zone).toordinal()
    days = max(1, step.days)
    wall = datetime.fromordinal(today // days * days if step.days else today)
    moments = []
    while (moment := wall.replace(tzinfo=zone)) <= end:
        moments += [moment] if moment >= start else []
        wall += step
    return [
        ChartTick((moment - start) / whole, chart_tick_label(moment), wide_only=index % 2 == 1)
        for index, moment in enumerate(moments)
    ]


# Chart of a job's seats and waitlist over time, for its figures and its board.


def draw_occupancy(
    points: Sequence[Point],
    start: datetime,
    end: datetime,
    zone: tzinfo,
) -> Chart:
    """Draw seats taken, seats in total and people waiting over time."""
    highest = max(max(p.held, p.waiting, p.capacity) for p in points)
    top, y = count_ticks(highest)
    whole = max((end - start).total_seconds(), 1)
    times = [(p.at - start).total_seconds() / whole for p in points] + [1.0]

    def job_occupancy_chart_line(name: str) -> list[tuple[float, float]]:
        values = [getattr(p, name) / top for p in points]
        return list(zip(times, [*values, values[-1]], strict=True))

    return Chart(
        ident="occupancy",
        title=_("Seats and waitlist over time"),
        description=_describe_occupancy(points[-1]),
        x_title=pgettext("label", "Time"),
        y_title=_("Seats and people"),
        x=time_ticks(start, end, zone),
        y=y,
        curves=[
            stepped_line("held", _("Seats taken"), job_occupancy_chart_line("held"), area=True),
            stepped_line(
                "capacity", _("Seats in total"), job_occupancy_chart_line("capacity"), area=False
            ),
            stepped_line(
                "waiting", _("People waiting"), job_occupancy_chart_line("waiting"), area=False
            ),
        ],
    )


def _describe_occupancy(last: Point) -> str:
    """Say how many seats are taken and how many people wait at the end, in two sentences."""
    seats = ngettext(
        "At the end, %(taken)s of %(seats)s seat is taken.",
        "At the end, %(taken)s of %(seats)s seats are taken.",
        last.capacity,
    )
    people = ngettext(
        "%(people)s person is waiting.", "%(people)s people are waiting.", last.waiting
    )
    taken = seats % {"taken": in_digits(last.held), "seats": in_digits(last.capacity)}
    return in_a_row(taken, people % {"people": in_digits(last.waiting)})
