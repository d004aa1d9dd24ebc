"""Picture of a line: seats above, waiting people below, the reader marked. Pure.

However long the line is, the picture has at most PLACES shapes in a row; a folded part is a
number. The words beside it and its label say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from jobs.models import Job
from pipeline.wording.language import in_a_row
from pipeline.wording.language import number as in_digits

PLACES = 11  # in a row; a folded part takes two
STEP, MARGIN = 28, 18  # from one shape's centre to the next; from the edge to the first centre
SEATS_Y, PEOPLE_Y = 24, 82
FIRST_SHOWN = 3  # people at the front, when the reader is far behind
TRIED = ("active", "pending", "free")


@dataclass(frozen=True, slots=True)
class PictureShape:
    """Seat, person or folded part. `kind` is its class; a folded part has a `count`."""

    kind: str
    x: int
    count: int = 0
    is_mine: bool = False

    @property
    def left(self) -> int:
        """Left edge of a seat."""
        return self.x - 11

    @property
    def label(self) -> str:
        """Number of a folded part, short enough for its two places."""
        return f"+{self.count:,}" if self.count < 100_000 else f"+{self.count // 1_000:,}k"


@dataclass(frozen=True, slots=True)
class LinePicture:
    """Shapes of a line, and the sentence that says what they show."""

    seats: list[PictureShape]
    people: list[PictureShape]
    sentence: str

    @classmethod
    def of(cls, job: Job, *, mine: str = "", position: int | None = None) -> LinePicture:
        """Draw a job's line. `mine` is the reader's kind of seat, `position` their place in line.

        The reader may have neither.
        """
        free = 0 if job.status == "CLOSED" else job.seats_free
        counts = {"active": job.active_count, "pending": job.pending_count, "free": free}
        return cls.of_counts(counts, job.people_waiting, mine=mine, position=position)

    @classmethod
    def of_counts(
        cls, counts: dict[str, int], waiting: int, *, mine: str = "", position: int | None = None
    ) -> LinePicture:
        """Draw a line from its numbers of active, pending and free seats and of people waiting."""
        if position is not None and not 1 <= position <= waiting:
            position = None
        return cls(
            _place_shapes(drawn_seats(counts), mine),
            _place_shapes(drawn_people(waiting, position), "mine"),
            describe(counts, waiting, mine, position),
        )

    @property
    def width(self) -> int:
        """Width of the drawing."""
        return 2 * MARGIN + STEP * (PLACES - 1)

    @property
    def height(self) -> int:
        """Height of the drawing: without people, it has only the seats."""
        return PEOPLE_Y + 30 if self.people else SEATS_Y + 24

    @property
    def front(self) -> int:
        """Place of the first person in line, where the arrow to the seats starts."""
        return MARGIN


def drawn_seats(counts: dict[str, int], *, most: int = PLACES) -> list[tuple[str, int]]:
    """List the seats to draw, and the number of the others. Each kind that exists is drawn."""
    total = sum(counts.values())
    kinds = [(kind, counts[kind]) for kind in TRIED if counts[kind]]
    if total <= most:
        return [(kind, 1) for kind, count in kinds for _ in range(count)]
    room = most - 2 - len(kinds)
    shown = [(kind, 1 + min(count - 1, room * count // total)) for kind, count in kinds]
    drawn = [(kind, 1) for kind, count in shown for _ in range(count)]
    return [*drawn, ("fold", total - len(drawn))]


def drawn_people(waiting: int, position: int | None) -> list[tuple[str, int]]:
    """List the people to draw from the front, and the numbers of those who are folded."""

    def picture_people_between(first: int, last: int) -> list[tuple[str, int]]:
        return [("mine" if n == position else "person", 1) for n in range(first, last + 1)]

    if waiting <= PLACES:
        return picture_people_between(1, waiting)
    if position is None or position <= PLACES - 2:
        return [*picture_people_between(1, PLACES - 2), ("fold", waiting - PLACES + 2)]
    behind = waiting - position
    tail = [("fold", behind)] if behind > 1 else picture_people_between(position + 1, waiting)
    ahead = [*picture_people_between(1, FIRST_SHOWN), ("fold", position - 2 - FIRST_SHOWN)]
    return [*ahead, *picture_people_between(position - 1, position), *tail]


def _place_shapes(drawn: list[tuple[str, int]], mine: str) -> list[PictureShape]:
    """Place shapes from left to right. The first of the reader's kind is the reader's."""
    shapes, x, is_found = [], MARGIN, False
    for kind, count in drawn:
        is_mine = bool(mine) and kind == mine and not is_found
        is_found = is_found or is_mine
        if kind == "fold":
            shapes.append(PictureShape(kind, x + STEP // 2, count))
            x += 2 * STEP
        else:
            shapes.append(PictureShape(kind, x, is_mine=is_mine))
            x += STEP
    return shapes


def describe(counts: dict[str, int], waiting: int, mine: str, position: int | None) -> str:
    sentences = [_describe_seats(counts), _describe_people(waiting)]
    if position:
        sentences.append(_("You are number %(place)s.") % {"place": in_digits(position)})
    elif mine == "active":
        sentences.append(_("You have a seat."))
    elif mine == "pending":
        sentences.append(_("A seat is offered to you."))
    return in_a_row(*sentences)


def _describe_seats(counts: dict[str, int]) -> str:
    words = {
        "active": ngettext("%(seats)s in review", "%(seats)s in review", counts["active"]),
        "pending": ngettext("%(seats)s offered", "%(seats)s offered", counts["pending"]),
        "free": ngettext("%(seats)s free", "%(seats)s free", counts["free"]),
    }
    parts = [words[kind] % {"seats": in_digits(counts[kind])} for kind in TRIED if counts[kind]]
    if not parts:
        return _("No seats.")
    total = sum(counts.values())
    # Translators: the kinds are a list, as "2 in review, 1 free".
    seats = ngettext("%(seats)s seat: %(kinds)s.", "%(seats)s seats: %(kinds)s.", total)
    # Translators: stands between the parts of a list.
    comma = pgettext("list", ", ")
    return seats % {"seats": in_digits(total), "kinds": comma.join(parts)}


def _describe_people(waiting: int) -> str:
    if not waiting:
        return _("Nobody waits in line.")
    people = ngettext(
        "%(people)s person waits in line.", "%(people)s people wait in line.", waiting
    )
    return people % {"people": in_digits(waiting)}
