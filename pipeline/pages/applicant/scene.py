"""Picture of a person's place: seats above, a winding way to them, the person's number on it. Pure.

However long the line is, a few people ahead are drawn and the others are a number, so that the
person's own circle is always in the picture. It moves towards the seats as they move up. The words
beside it and its label say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import dist
from typing import Final

from django.utils.translation import ngettext

from jobs.models import Job, JobStatus
from pipeline.pages.line_picture import PictureShape, describe, drawn_seats
from pipeline.wording.language import number as in_digits

Point = tuple[float, float]

WIDTH, HEIGHT = 390, 352
# The way from the seats to the end of the line: cubic curves, each from the end of the one before.
START: Final[Point] = (195, 86)
CURVES: Final[tuple[tuple[Point, Point, Point], ...]] = (
    ((195, 132), (318, 100), (318, 164)),
    ((318, 238), (60, 196), (60, 274)),
    ((60, 330), (150, 332), (230, 332)),
    ((290, 332), (350, 332), (410, 332)),
)
STEPS = 60  # straight pieces of a curve
SEAT_STEP, SEATS_Y = 50, 49
MOST_AHEAD = 4  # people drawn ahead; of more, the first, their number, and the nearest
FIRST, APART_AHEAD, OWN_ROOM, APART_BEHIND = 54, 40, 62, 37  # distances along the way
FADES = 5


@dataclass(frozen=True, slots=True)
class Person:
    """Circle on the way. `fade` grows with the distance behind the reader, 0 is ahead of them."""

    x: float
    y: float
    radius: float
    fade: int = 0


@dataclass(frozen=True, slots=True)
class PlaceScene:
    """Shapes of the picture, and the sentence that says what they show."""

    seats: list[PictureShape]
    seats_note: str
    people: list[Person]
    me: Person
    number: str
    fold: tuple[float, float, str] | None  # where the number of people who are not drawn stands
    sentence: str
    way: str = ""  # of everyone
    own_way: str = ""  # from the reader to the seats

    @classmethod
    def of(cls, job: Job, position: int) -> PlaceScene:
        """Draw the line of a job for the person at a position."""
        ahead, behind = position - 1, max(0, job.people_waiting - position)
        drawn = min(ahead, MOST_AHEAD)
        places = [FIRST + APART_AHEAD * each for each in range(drawn)]
        folded = ahead - drawn
        fold = None
        if folded:
            x, y = _WAY.point(places.pop(-2))
            fold = (x, y, f"+{folded + 1:,}")
        own = FIRST + APART_AHEAD * drawn + (OWN_ROOM - APART_AHEAD if drawn else 0)
        people = [Person(*_WAY.point(each), 13) for each in places]
        room = int((_WAY.length - own - OWN_ROOM) // APART_BEHIND) + 1
        for each in range(min(behind, room)):
            at = _WAY.point(own + OWN_ROOM + APART_BEHIND * each)
            people.append(Person(*at, 11 - each * 0.25, min(FADES, each // 3 + 1)))
        free = 0 if job.status == JobStatus.CLOSED else job.seats_free
        counts = {"active": job.active_count, "pending": job.pending_count, "free": free}
        return cls(
            seats=_place_seats(counts),
            seats_note=_describe_seats(job),
            people=people,
            me=Person(*_WAY.point(own), 31),
            number=in_digits(position),
            fold=fold,
            sentence=describe(counts, job.people_waiting, "", position),
            way=_WAY.drawn(_WAY.length),
            own_way=_WAY.drawn(own - 31),
        )

    @property
    def is_number_long(self) -> bool:
        """Tell whether the number needs smaller figures to fit into the circle."""
        return len(self.number) > 3


@dataclass(frozen=True, slots=True)
class _Way:
    """Line of straight pieces, with the length up to the end of each."""

    points: tuple[Point, ...]
    lengths: tuple[float, ...]

    @property
    def length(self) -> float:
        return self.lengths[-1]

    def point(self, length: float) -> Point:
        """Return the point at a length from the start."""
        for (before, after), (begin, end) in zip(
            pairwise(self.lengths), pairwise(self.points), strict=True
        ):
            if length <= after:
                part = (length - before) / (after - before)
                x, y = (a + (b - a) * part for a, b in zip(begin, end, strict=True))
                return round(x, 1), round(y, 1)
        return self.points[-1]

    def drawn(self, length: float) -> str:
        """Return the way up to a length as the data of an SVG path."""
        passed = [point for point, at in zip(self.points, self.lengths, strict=True) if at < length]
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in [*passed, self.point(length)])


def _measured_way() -> _Way:
    points = [START]
    for first, second, end in CURVES:
        begin = points[-1]
        points += [_on_curve(begin, first, second, end, n / STEPS) for n in range(1, STEPS + 1)]
    lengths = [0.0]
    for begin, end in pairwise(points):
        lengths.append(lengths[-1] + dist(begin, end))
    return _Way(tuple(points), tuple(lengths))


def _on_curve(begin: Point, first: Point, second: Point, end: Point, part: float) -> Point:
    rest = 1 - part
    weights = (rest**3, 3 * rest**2 * part, 3 * rest * part**2, part**3)
    x, y = (
        sum(
            weight * point[axis]
            for weight, point in zip(weights, (begin, first, second, end), strict=True)
        )
        for axis in (0, 1)
    )
    return round(x, 1), round(y, 1)


_WAY = _measured_way()


def _place_seats(counts: dict[str, int]) -> list[PictureShape]:
    """Place the seats in the middle; those that do not fit are a number."""
    drawn = drawn_seats(counts, most=7)
    left = WIDTH / 2 - SEAT_STEP * (len(drawn) - 1) / 2
    return [
        PictureShape(kind, round(left + SEAT_STEP * place), count)
        for place, (kind, count) in enumerate(drawn)
    ]


def _describe_seats(job: Job) -> str:
    """Return the caption of the seats: how many are in review, or free."""
    if job.seats_free and job.status != JobStatus.CLOSED:
        words = ngettext("%(seats)s seat free", "%(seats)s seats free", job.seats_free)
        return words % {"seats": in_digits(job.seats_free)}
    if not job.pending_count:
        words = ngettext("%(seats)s in review", "%(seats)s in review", job.active_count)
        return words % {"seats": in_digits(job.active_count)}
    held = job.active_count + job.pending_count
    words = ngettext("%(seats)s seat taken", "%(seats)s seats taken", held)
    return words % {"seats": in_digits(held)}
