"""A weekly report as rows of numbers, in words. Pure.

What it shows as a table, as tiles, and as CSV comes from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.wording.english import capitalized, count, short_duration

Figures = dict[str, Any]
"""What `pipeline.stats.job_week.figures_of_week` counted."""

LESS, MORE = "\N{MINUS SIGN}", "+"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Row:
    """A number of the week, and the same of the week before; None where there is none."""

    key: str
    label: str
    is_time: bool
    """Whether it is in seconds; else it counts."""
    value: float | None
    before: float | None

    @property
    def is_part(self) -> bool:
        """Whether it is a part of the number above it."""
        return self.label.startswith("of them")

    @property
    def shown(self) -> str:
        """The number of the week."""
        return self._words(self.value)

    @property
    def shown_before(self) -> str:
        """The number of the week before."""
        return self._words(self.before)

    @property
    def change(self) -> str:
        """By how much it is more or less than the week before; nothing where none can be said."""
        if self.value is None or self.before is None:
            return ""
        difference = round(self.value) - round(self.before)
        if not difference:
            return "same"
        return (MORE if difference > 0 else LESS) + self._words(abs(difference))

    def _words(self, number: float | None) -> str:
        if number is None:
            return NOTHING
        return short_duration(number) if self.is_time else f"{number:,.0f}"


@dataclass(frozen=True, slots=True)
class _Number:
    key: str
    label: str
    of: Callable[[Figures], float | None]
    is_time: bool = False

    def row(self, week: Figures, before: Figures | None) -> Row:
        then = self.of(before) if before else None
        return Row(self.key, self.label, self.is_time, self.of(week), then)


def _count(key: str, label: str) -> _Number:
    return _Number(key, label, lambda figures: figures[key])


def _decided(outcome: str, label: str) -> _Number:
    key = f"decided_{outcome.lower()}"
    return _Number(key, label, lambda figures: figures["decided"].get(outcome, 0))


def _part(group: str, part: str, label: str) -> _Number:
    return _Number(f"{part}_{group}", label, lambda figures: figures[group][part], is_time=True)


GROUPS: dict[str, tuple[_Number, ...]] = {
    "People": (
        _count("applied", "Applied"),
        _count("seated", "of them into review at once"),
        _count("waiting_at_start", "Waited when it began"),
        _count("waiting_at_end", "Waited when it ended"),
        _count("withdrawn", "Withdrew"),
        _count("closed_out", "Let go, the job closed"),
    ),
    "Offers": (
        _count("offered", "Seats offered"),
        _count("promoted", "of them to people who waited"),
        _count("confirmed", "Confirmed"),
        _count("missed", "Deadlines missed"),
        _count("lapsed", "of them once too often"),
        _part("confirm_seconds", "median", "Time to confirm, median"),
        _part("confirm_seconds", "p90", "Time to confirm, nine of ten"),
        _part("wait_seconds", "median", "Wait for an offer, median"),
        _part("wait_seconds", "p90", "Wait for an offer, nine of ten"),
    ),
    "Your decisions": (
        _decided("HIRED", "Hired"),
        _decided("REJECTED", "Not selected"),
        _decided("REMOVED", "Removed"),
    ),
    "Seats": (
        _count("held_at_start", "Taken when it began"),
        _count("held_at_end", "Taken when it ended"),
        _count("seats_at_end", "Seats when it ended"),
        _part("seat_seconds", "review", "Seat time in review"),
        _part("seat_seconds", "offered", "Seat time on offer"),
        _part("seat_seconds", "nobody", "Free, nobody was waiting"),
        _part("seat_seconds", "cooldown", "Free, all who waited in a cool-down"),
        _part("seat_seconds", "paused", "Free, the job was paused"),
    ),
}
"""All numbers of a report, by what they are about."""

COLUMNS = (("People", "Seats"), ("Offers", "Your decisions"))
"""The groups as they stand beside each other where there is room."""
TILES = ("applied", "offered", "confirmed", "missed", "decided", "waiting_at_end")


def groups_of(week: Figures, before: Figures | None) -> list[tuple[str, list[Row]]]:
    """All rows of a report, by group."""
    return [
        (name, [number.row(week, before) for number in numbers]) for name, numbers in GROUPS.items()
    ]


def columns_of(week: Figures, before: Figures | None) -> list[list[tuple[str, list[Row]]]]:
    """All rows of a report, by group, by column."""
    groups = dict(groups_of(week, before))
    return [[(name, groups[name]) for name in names] for names in COLUMNS]


def tiles_of(week: Figures, before: Figures | None) -> list[Row]:
    """The numbers that matter most."""
    known = {number.key: number for numbers in GROUPS.values() for number in numbers}
    known["decided"] = _Number("decided", "You decided", lambda f: sum(f["decided"].values()))
    known["waiting_at_end"] = _count("waiting_at_end", "Waiting at the end")
    return [known[key].row(week, before) for key in TILES]


def csv_rows(week: Figures, before: Figures | None) -> list[dict[str, Any]]:
    """The rows as a file has them: whole numbers, and times in seconds to the millisecond."""
    return [
        {
            "group": name,
            "figure": row.key,
            "unit": "seconds" if row.is_time else "count",
            "week": _plain(row.value),
            "week_before": _plain(row.before),
        }
        for name, rows in groups_of(week, before)
        for row in rows
    ]


def _plain(number: float | None) -> float | None:
    return number if number is None or isinstance(number, int) else round(number, 3)


def in_short(figures: Figures) -> str:
    """The week in two sentences."""
    offers = _of(figures["offered"], "seat was offered", "seats were offered")
    people = _of(figures["applied"], "person applied", "people applied")
    told = f"{capitalized(people)} and {offers}{_answers(figures)}"
    idle = figures["seat_seconds"]["cooldown"]
    if idle >= 1:
        free = short_duration(idle)
        return f"{told} Seats stood free for {free} while people waited in a cool-down."
    if figures["seat_seconds"]["nobody"] >= 1:
        free = short_duration(figures["seat_seconds"]["nobody"])
        return f"{told} Seats stood free for {free}, but only while nobody waited."
    return told


def _answers(figures: Figures) -> str:
    if not (figures["confirmed"] or figures["missed"]):
        return "."
    missed = _of(figures["missed"], "deadline was missed", "deadlines were missed")
    missed = missed if figures["missed"] else "no deadline was missed"
    confirmed = _of(figures["confirmed"], "was confirmed", "were confirmed")
    confirmed = confirmed if figures["confirmed"] else "none was confirmed"
    return f"; {confirmed}, and {missed}."


def _of(number: int, one: str, many: str) -> str:
    return count(number, one, many) if number else f"no {many}"
