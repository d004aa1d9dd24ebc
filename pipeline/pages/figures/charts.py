"""Charts as plain numbers, for the template that draws them as SVG. Pure.

A template can put a share of the width as a percentage, so a chart is as wide as its place and its
words keep their size; lines are drawn in a box of WIDTH by HEIGHT that is stretched to that width.
There is no style in them: colours come from the classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from pipeline.wording.english import axis_duration

WIDTH, HEIGHT = 1_000, 200
"""The box of the lines, in its own units; the height is in pixels too."""
TOP = 18
"""Room above the box, in pixels, for the words of marks."""
BAR_SHARE = 0.76
"""How much of its place a bar takes."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A word on an axis, and where: from 0 (left, bottom) to 1 (right, top)."""

    at: float
    label: str
    wide_only: bool = False
    """Whether it is left out where there is little room."""

    @property
    def x(self) -> str:
        """Its place along the width."""
        return percent(self.at)

    @property
    def y(self) -> float:
        """Its height, in pixels from the top."""
        return round(TOP + (1 - self.at) * HEIGHT, 1)

    @property
    def text_y(self) -> float:
        """The base line of its word beside that height."""
        return self.y + 4

    @property
    def anchor(self) -> str:
        """To which side the word goes, so that none leaves the chart."""
        if self.at < 0.04:
            return "start"
        return "end" if self.at > 0.96 else "middle"


@dataclass(frozen=True, slots=True)
class Curve:
    """A line. `kind` is its class; `path` and `area` are in the box of the lines."""

    kind: str
    label: str
    path: str
    area: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: from where, how wide (shares of the width), how high (0 to 1), and what it says."""

    start: float
    width: float
    height: float
    label: str
    kind: str = ""

    @property
    def x(self) -> str:
        """Where it begins."""
        return percent(self.start)

    @property
    def wide(self) -> str:
        """How wide it is."""
        return percent(self.width)

    @property
    def pixels(self) -> float:
        """How high it is; what is not nothing can be seen."""
        return round(max(2.0, self.height * HEIGHT), 1) if self.height else 0

    @property
    def y(self) -> float:
        """Where its top is, in pixels."""
        return round(TOP + HEIGHT - self.pixels, 1)


@dataclass(frozen=True, slots=True)
class Chart:
    """All that is drawn, and what it says in words."""

    ident: str
    title: str
    description: str
    x: list[Tick]
    y: list[Tick]
    curves: list[Curve] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    marks: list[Tick] = field(default_factory=list)
    """Upright lines with a word."""

    @property
    def top(self) -> int:
        """Where the box begins."""
        return TOP

    @property
    def bottom(self) -> int:
        """Where the box ends."""
        return TOP + HEIGHT

    @property
    def height(self) -> int:
        """The height of everything, with the words below."""
        return TOP + HEIGHT + 28

    @property
    def words_y(self) -> int:
        """The base line of the words below."""
        return TOP + HEIGHT + 19

    @property
    def box(self) -> str:
        """The box of the lines as a viewBox."""
        return f"0 0 {WIDTH} {HEIGHT}"


def percent(share: float) -> str:
    """A share as SVG takes it."""
    return f"{share * 100:.2f}%"


def steps(kind: str, label: str, points: Sequence[tuple[float, float]], *, area: bool) -> Curve:
    """A line that keeps each value until the next; points are from 0 to 1 on both axes."""
    (x, y), *rest = [(px * WIDTH, (1 - py) * HEIGHT) for px, py in points]
    path = f"M{x:.1f},{y:.1f}" + "".join(f"H{px:.1f}V{py:.1f}" for px, py in rest)
    end = rest[-1][0] if rest else x
    return Curve(kind, label, path, f"{path}V{HEIGHT}H{x:.1f}Z" if area and end > x else "")


def slope(kind: str, label: str, points: Iterable[tuple[float, float]]) -> Curve:
    """A line that goes straight from each point to the next, filled below."""
    placed = [(px * WIDTH, (1 - py) * HEIGHT) for px, py in points]
    path = "M" + "L".join(f"{px:.1f},{py:.1f}" for px, py in placed)
    return Curve(kind, label, path, f"{path}V{HEIGHT}H{placed[0][0]:.1f}Z")


def bars(numbers: Sequence[int], labels: Sequence[str], top: float, *, kind: str = "") -> list[Bar]:
    """A bar for each number, side by side over the whole width; `top` is the axis' end."""
    place = 1 / len(numbers)
    gap = place * (1 - BAR_SHARE) / 2
    return [
        Bar(index * place + gap, place * BAR_SHARE, number / top, label, kind)
        for index, (number, label) in enumerate(zip(numbers, labels, strict=True))
    ]


def count_ticks(highest: float) -> tuple[float, list[Tick]]:
    """Where an axis of counts ends, and its words: whole round numbers, four steps or fewer."""
    rough = max(1.0, highest / 4)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    top = step * max(1, math.ceil(highest / step))
    numbers = range(0, int(top) + 1, int(step))
    return top, [Tick(number / top, f"{number:,}") for number in numbers]


SHARE_TICKS = [Tick(part / 4, f"{part * 25} %") for part in range(5)]
"""The axis of a share of all."""

_SPANS = (1, 5, 15, 30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)


def span_ticks(longest_seconds: float, *, most: int = 6) -> list[Tick]:
    """Words on an axis of spans of time that begins at 0: round ones."""
    days = (86_400 * n for n in (2, 5, 10, 20, 50, 100, 1_000))
    step = next(s for s in (*_SPANS, *days) if longest_seconds / s <= most)
    count = int(longest_seconds // step)
    return [
        Tick(index * step / longest_seconds, axis_duration(index * step), wide_only=index % 2 == 1)
        for index in range(count + 1)
    ]


_STEPS = (
    *(timedelta(minutes=n) for n in (1, 5, 10, 15, 30)),
    *(timedelta(hours=n) for n in (1, 2, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 2, 7, 14, 30, 60, 120, 365, 1_000, 10_000)),
)


def time_ticks(start: datetime, end: datetime, zone: tzinfo, *, most: int = 7) -> list[Tick]:
    """Words on an axis of time: at round times of that zone."""
    whole = max(end - start, timedelta(minutes=1))
    step = next(s for s in _STEPS if whole / s <= most)
    moments = [m for m in _round_times(start.astimezone(zone), end, step) if start <= m <= end]
    return [
        Tick((moment - start) / whole, _time_words(moment, step), wide_only=index % 2 == 1)
        for index, moment in enumerate(moments)
    ]


def _round_times(start: datetime, end: datetime, step: timedelta) -> Iterable[datetime]:
    """By the clock on the wall: a day is from midnight to midnight, however long it is."""
    zone, wall = start.tzinfo, start.replace(tzinfo=None)
    days = max(1, step.days)
    day = datetime.fromordinal(wall.toordinal() // days * days if step.days else wall.toordinal())
    while (moment := day.replace(tzinfo=zone)) <= end:
        yield moment
        day += step


def _time_words(moment: datetime, step: timedelta) -> str:
    if step.days or not (moment.hour or moment.minute):
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M}"
