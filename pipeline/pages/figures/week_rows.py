"""Weekly report as rows of labelled numbers: for the table, the tiles and the CSV file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.wording.english import capitalized, count, short_duration

Figures = dict[str, Any]  # as counted by `pipeline.stats.job_week.figures_of_week`

LESS, MORE = "\N{MINUS SIGN}", "+"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Row:
    """Number of the week and of the week before; None where there is none."""

    key: str
    label: str
    is_time: bool  # in seconds; else a count
    value: float | None
    before: float | None

    @property
    def is_part(self) -> bool:
        """True for a part of the number above."""
        return self.label.startswith("of them")

    @property
    def shown(self) -> str:
        """Number of the week, formatted."""
        return self._words(self.value)

    @property
    def previous_week_text(self) -> str:
        """Number of the week before, formatted."""
        return self._words(self.before)

    @property
    def change(self) -> str:
        """Difference to the week before, formatted; empty if either number is missing."""
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


# All numbers of a report, by topic.
GROUPS: dict[str, tuple[_Number, ...]] = {
    "People": (
        _count("applied", "Applied"),
        _count("seated", "of them into review at once"),
        _count("waiting_at_start", "Waiting at the start"),
        _count("waiting_at_end", "Waiting at the end"),
        _count("withdrawn", "Withdrew"),
        _count("closed_out", "Released, the job closed"),
    ),
    "Offers": (
        _count("offered", "Seats offered"),
        _count("promoted", "of them to people waiting"),
        _count("confirmed", "Confirmed"),
        _count("missed", "Deadlines missed"),
        _count("lapsed", "of them one too many"),
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
        _count("held_at_start", "Taken at the start"),
        _count("held_at_end", "Taken at the end"),
        _count("seats_at_end", "Seats at the end"),
        _part("seat_seconds", "review", "Seat time in review"),
        _part("seat_seconds", "offered", "Seat time on offer"),
        _part("seat_seconds", "nobody", "Free, nobody was waiting"),
        _part("seat_seconds", "cooldown", "Free, everyone waiting in a cool-down"),
        _part("seat_seconds", "paused", "Free, the job was paused"),
    ),
}

COLUMNS = (("People", "Seats"), ("Offers", "Your decisions"))  # side by side on wide screens
TILES = ("applied", "offered", "confirmed", "missed", "decided", "waiting_at_end")


def groups_of(week: Figures, before: Figures | None) -> list[tuple[str, list[Row]]]:
    """Return all rows of a report, by group."""
    return [
        (name, [number.row(week, before) for number in numbers]) for name, numbers in GROUPS.items()
    ]


def columns_of(week: Figures, before: Figures | None) -> list[list[tuple[str, list[Row]]]]:
    """Return all rows of a report, by column and group."""
    groups = dict(groups_of(week, before))
    return [[(name, groups[name]) for name in names] for names in COLUMNS]


def tiles_of(week: Figures, before: Figures | None) -> list[Row]:
    """Return the most important numbers of a report."""
    known = {number.key: number for numbers in GROUPS.values() for number in numbers}
    known["decided"] = _Number("decided", "You decided", lambda f: sum(f["decided"].values()))
    return [known[key].row(week, before) for key in TILES]


def csv_rows(week: Figures, before: Figures | None) -> list[dict[str, Any]]:
    """Return the rows of the CSV file: counts, and times in seconds to the millisecond."""
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
    """Summarize the week in one or two sentences."""
    offers = _of(figures["offered"], "seat was offered", "seats were offered")
    people = _of(figures["applied"], "person applied", "people applied")
    summary = f"{capitalized(people)} and {offers}"
    if figures["confirmed"] or figures["missed"]:
        confirmed = _of(figures["confirmed"], "was confirmed", "were confirmed", nothing="none")
        missed = _of(figures["missed"], "deadline was missed", "deadlines were missed")
        summary += f"; {confirmed}, and {missed}"
    cooldown, nobody = (figures["seat_seconds"][part] for part in ("cooldown", "nobody"))
    if cooldown >= 1:
        return f"{summary}. Seats stood free for {short_duration(cooldown)} during cool-downs."
    if nobody >= 1:
        return f"{summary}. Seats stood free for {short_duration(nobody)}, but nobody was waiting."
    return f"{summary}."


def _of(number: int, one: str, many: str, *, nothing: str = "no") -> str:
    return count(number, one, many) if number else f"{nothing} {many}"
