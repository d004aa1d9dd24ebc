"""Charts of a weekly report, built from its figures. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.figures.series import DAYS, Point, SeatTime, Week
from pipeline.pages import occupancy_chart
from pipeline.pages.charts import Chart, ChartBar, ChartTick, count_ticks
from pipeline.pages.figures.job_charts import JobSeatTimePart, draw_seat_time
from pipeline.wording.english import capitalized, count, short_duration

# Classes and labels of a day's bars, in the order of the day's numbers.
DAY_BARS = {
    "applied": "Applied",
    "offered": "Offered",
    "held": "Confirmed",
    "miss": "Missed",
}
GROUP_SHARE = 0.72  # share of a day's place that its bars fill


def day_names(week: Week) -> list[str]:
    """Return short names of a week's days: Mon 9 Nov."""
    return [f"{day:%a} {day.day} {day:%b}" for day in week.days[:DAYS]]


def draw_days(figures: dict[str, Any], week: Week) -> Chart | None:
    """Draw four counts per day, or None if all are zero."""
    highest = max(max(day) for day in figures["days"])
    if not highest:
        return None
    top, y = count_ticks(highest)
    place = 1 / DAYS
    wide = place * GROUP_SHARE / len(DAY_BARS)
    bars = []
    for number, (day, name) in enumerate(zip(figures["days"], day_names(week), strict=True)):
        start = number * place + place * (1 - GROUP_SHARE) / 2
        for index, ((kind, words), number_of) in enumerate(zip(DAY_BARS.items(), day, strict=True)):
            label = f"{name}, {words}: {number_of:,}"
            bars.append(ChartBar(start + index * wide, wide * 0.88, number_of / top, label, kind))
    return Chart(
        ident="days",
        title="Day by day",
        description="Applications, offers, confirmations and missed deadlines on each day.",
        x=[
            ChartTick((number + 0.5) / DAYS, f"{day:%a} {day.day}", wide_only=number % 2 == 1)
            for number, day in enumerate(week.days[:DAYS])
        ],
        y=y,
        bars=bars,
    )


def draw_occupancy(figures: dict[str, Any], week: Week) -> Chart:
    """Draw seats and waitlist over the week."""
    points = [Point(datetime.fromisoformat(at), *row) for at, *row in figures["points"]]
    return occupancy_chart.draw(points, week.start, week.end, ZoneInfo(week.zone))


def draw_spent_time(
    figures: dict[str, Any],
) -> tuple[list[JobSeatTimePart], list[ChartBar]]:
    """Split the week's seat time into parts, and build the bar that shows them."""
    return draw_seat_time(SeatTime(**figures["seat_seconds"]))


# Weekly report as rows of labelled numbers: for the table, the tiles and the CSV file. Pure.


WeekFigures = dict[str, Any]  # as counted by `pipeline.figures.series.read_week`

LESS, MORE = "\N{MINUS SIGN}", "+"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class WeekRow:
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
class _WeekNumber:
    key: str
    label: str
    of: Callable[[WeekFigures], float | None]
    is_time: bool = False

    def row(self, week: WeekFigures, before: WeekFigures | None) -> WeekRow:
        then = self.of(before) if before else None
        return WeekRow(self.key, self.label, self.is_time, self.of(week), then)


def _count(key: str, label: str) -> _WeekNumber:
    return _WeekNumber(key, label, lambda figures: figures[key])


def _decided(outcome: str, label: str) -> _WeekNumber:
    key = f"decided_{outcome.lower()}"
    return _WeekNumber(key, label, lambda figures: figures["decided"].get(outcome, 0))


def _part(group: str, part: str, label: str) -> _WeekNumber:
    return _WeekNumber(f"{part}_{group}", label, lambda figures: figures[group][part], is_time=True)


# All numbers of a report, by topic.
GROUPS: dict[str, tuple[_WeekNumber, ...]] = {
    "People": (
        _count("applied", "Applied"),
        _count("seated", "of whom went straight into review"),
        _count("waiting_at_start", "Waiting at the start"),
        _count("waiting_at_end", "Waiting at the end"),
        _count("withdrawn", "Withdrew"),
        _count("closed_out", "Released because the job closed"),
    ),
    "Offers": (
        _count("offered", "Seats offered"),
        _count("promoted", "of which to people waiting"),
        _count("confirmed", "Confirmed"),
        _count("missed", "Deadlines missed"),
        _count("lapsed", "of which ended the application"),
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
        _part("seat_seconds", "cooldown", "Free, everyone waiting in a cool-down or “not now”"),
        _part("seat_seconds", "paused", "Free, the job was paused"),
        _WeekNumber(
            "missed_idle_seats",
            "Lost to people who did not answer",
            lambda figures: (figures.get("idle_seats") or {}).get("missed"),
            is_time=True,
        ),
    ),
}

COLUMNS = (("People", "Seats"), ("Offers", "Your decisions"))  # side by side on wide screens
TILES = ("applied", "offered", "confirmed", "missed", "decided", "waiting_at_end")


def row_groups(week: WeekFigures, before: WeekFigures | None) -> list[tuple[str, list[WeekRow]]]:
    """Return all rows of a report, by group."""
    return [
        (name, [number.row(week, before) for number in numbers]) for name, numbers in GROUPS.items()
    ]


def row_columns(
    week: WeekFigures, before: WeekFigures | None
) -> list[list[tuple[str, list[WeekRow]]]]:
    """Return all rows of a report, by column and group."""
    groups = dict(row_groups(week, before))
    return [[(name, groups[name]) for name in names] for names in COLUMNS]


def tile_rows(week: WeekFigures, before: WeekFigures | None) -> list[WeekRow]:
    """Return the most important numbers of a report."""
    known = {number.key: number for numbers in GROUPS.values() for number in numbers}
    known["decided"] = _WeekNumber("decided", "You decided", lambda f: sum(f["decided"].values()))
    return [known[key].row(week, before) for key in TILES]


def csv_rows(week: WeekFigures, before: WeekFigures | None) -> list[dict[str, Any]]:
    """Return the rows of the CSV file: counts, and times in seconds to the millisecond."""
    return [
        {
            "group": name,
            "figure": row.key,
            "unit": "seconds" if row.is_time else "count",
            "week": _plain_number(row.value),
            "week_before": _plain_number(row.before),
        }
        for name, rows in row_groups(week, before)
        for row in rows
    ]


def _plain_number(number: float | None) -> float | None:
    return number if number is None or isinstance(number, int) else round(number, 3)


def summarise(figures: WeekFigures) -> str:
    """Summarize the week in one or two sentences."""
    offers = _count_words(figures["offered"], "seat was offered", "seats were offered")
    people = _count_words(figures["applied"], "person applied", "people applied")
    summary = f"{capitalized(people)} and {offers}"
    if figures["confirmed"] or figures["missed"]:
        confirmed = _count_words(
            figures["confirmed"], "was confirmed", "were confirmed", nothing="none"
        )
        missed = _count_words(figures["missed"], "deadline was missed", "deadlines were missed")
        summary += f"; {confirmed}, and {missed}"
    cooldown, nobody = (figures["seat_seconds"][part] for part in ("cooldown", "nobody"))
    if cooldown >= 1:
        free = f"Seats stood free for {short_duration(cooldown)}"
        return f"{summary}. {free} because nobody waiting could take them."
    if nobody >= 1:
        return f"{summary}. Seats stood free for {short_duration(nobody)}, but nobody was waiting."
    return f"{summary}."


def _count_words(number: int, one: str, many: str, *, nothing: str = "no") -> str:
    return count(number, one, many) if number else f"{nothing} {many}"
