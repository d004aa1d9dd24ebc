"""Words about the state of a line: promotions, draws, forecasts, moves. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil, floor
from typing import Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pipeline.domain.states import EventType
from pipeline.wording.english import capitalized, format_count, format_number, people, plural

LATELY = timedelta(hours=1)  # after a promotion, in which a line still counts as moving


class Cause(StrEnum):
    """Cause of a promotion status."""

    DRAFT = "DRAFT"
    CLOSING_OUT = "CLOSING_OUT"
    CLOSED = "CLOSED"
    WORKER_SILENT = "WORKER_SILENT"
    SETTLING = "SETTLING"
    PAUSED = "PAUSED"
    DRAW = "DRAW"
    FILLED = "FILLED"
    DRAINING = "DRAINING"
    UNVERIFIED = "UNVERIFIED"
    NOBODY_WAITS = "NOBODY_WAITS"
    SEATS_FREE = "SEATS_FREE"
    COOL_DOWNS = "COOL_DOWNS"
    MOVING = "MOVING"
    NO_SEAT_FREE = "NO_SEAT_FREE"
    RESERVED = "RESERVED"


@dataclass(frozen=True, slots=True)
class PromotionFacts:
    """A job's counters and relevant times, as of `now` on the database's clock."""

    status: str
    capacity: int
    active: int
    pending: int
    waiting: int
    now: datetime
    unverified: int = 0  # of those waiting
    # Whether a free seat is only offered to the person who applies, by the job's policy.
    offers_first_seat: bool = False
    # The earliest deadline of an open offer.
    first_deadline: datetime | None = None
    # When the first verified person in a cool-down or deferral can be promoted; else None.
    first_eligible: datetime | None = None
    # When the first unverified application lapses.
    first_verify_by: datetime | None = None
    last_promotion: datetime | None = None
    worker_seen: datetime | None = None
    worker_alive: bool = True
    is_filled: bool = False  # every position
    reserved_free: int = 0  # free seats that nobody outside the job's group can take

    @property
    def held(self) -> int:
        """Return the number of taken seats."""
        return self.active + self.pending

    @property
    def free(self) -> int:
        """Return the number of free seats for anyone; 0 while a lowered capacity drains."""
        free = max(0, self.capacity - self.held - self.reserved_free)
        return 0 if self.is_filled else free

    @property
    def verified(self) -> int:
        """Return the number of verified people on the waitlist."""
        return self.waiting - self.unverified

    @property
    def overdue_since(self) -> datetime | None:
        """Return when the oldest overdue change of this line was due, or None."""
        runs = self.status in ("OPEN", "PAUSED")
        moments = [self.first_deadline, self.first_verify_by] if runs else []
        if self.status == "OPEN" and self.free and self.verified:
            moments.append(self.first_eligible)
        passed = [moment for moment in moments if moment and moment <= self.now]
        return min(passed, default=None)


@dataclass(frozen=True, slots=True)
class PromotionStatus:
    """A short answer, the reason, and what happens next. `at` is the time it mentions.

    `tone`: good if all is well, warn if it waits for the company, bad if something is wrong.
    """

    cause: Cause
    title: str
    text: str
    next: str
    at_words: str = ""
    at: datetime | None = None
    tone: str = "plain"


def explain_promotion(facts: PromotionFacts) -> PromotionStatus:
    """Return the status for the first cause that applies. Every state has one."""
    return next(answer for holds, answer in _ANSWERS if holds(facts))(facts)


def _draft(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.DRAFT,
        "The job is a draft.",
        "Only your company sees it, so nobody can apply yet.",
        "Open it and people can apply. They are offered seats while there are free ones."
        if facts.offers_first_seat
        else "Open it and people can apply. They get seats while there are free ones.",
        tone="warn",
    )


def _closing_out(facts: PromotionFacts) -> PromotionStatus:
    left = facts.waiting + facts.pending
    return PromotionStatus(
        Cause.CLOSING_OUT,
        "The job is closed. Everyone without a confirmed seat is being released.",
        f"{people(left)} {plural(left, 'is', 'are')} still in line. The worker "
        f"releases them in batches.",
        "This takes moments, even for a long line. People in review stay until you decide.",
        tone="warn" if facts.worker_alive else "bad",
    )


def _closed(facts: PromotionFacts) -> PromotionStatus:
    stays = f"{people(facts.active)} in review {plural(facts.active, 'stays', 'stay')} until you"
    return PromotionStatus(
        Cause.CLOSED,
        "The job is closed.",
        "Nobody can apply and nobody is waiting.",
        f"{stays} decide." if facts.active else "Nothing is left to do here.",
    )


def _worker_silent(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.WORKER_SILENT,
        "The worker that enforces deadlines is not running.",
        "A change in this line is overdue. It will be settled as soon as anyone acts on this "
        "job, and nobody loses a place because of the delay. Until then, nothing happens.",
        "Ask the operator of this site to start the decay worker (“System” shows when it was last"
        " seen).",
        "It was last seen" if facts.worker_seen else "It was never seen. Overdue since",
        facts.worker_seen or facts.overdue_since,
        tone="bad",
    )


def _settling(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.SETTLING,
        "The line is being settled.",
        "A deadline has passed, and the worker is processing it.",
        "This page shows the result within moments.",
        "Due",
        facts.overdue_since,
    )


def _paused(facts: PromotionFacts) -> PromotionStatus:
    free = f" {_free_seats(facts)}." if facts.free else ""
    resumed = "Resume it, and it continues where it stopped."
    if facts.free and facts.verified:
        resumed = "Resume it, and free seats go at once to the next people in line."
    return PromotionStatus(
        Cause.PAUSED,
        "The job is paused.",
        "Nobody can apply and nobody is promoted. People may still confirm or withdraw, and"
        f" deadlines still run.{free}",
        resumed,
        *_deadline(facts),
        tone="warn",
    )


def _filled(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.FILLED,
        _("All positions are filled."),
        _("Nobody is offered a seat any more. Everyone in line keeps their place."),
        _("Close the job, or add positions in its settings: then free seats are offered again."),
        *_deadline(facts),
        tone="warn",
    )


def _draining(facts: PromotionFacts) -> PromotionStatus:
    over = facts.held - facts.capacity
    return PromotionStatus(
        Cause.DRAINING,
        f"More people hold a seat than there are seats now: {facts.held} of {facts.capacity:,}.",
        "The number of seats was lowered. Nobody loses a seat: seats close as people leave.",
        f"After {over + 1} of them have left, the next in line is promoted."
        if facts.verified
        else f"After {over} of them {plural(over, 'leaves', 'leave')}, the job is within its"
        " seats.",
        *_deadline(facts),
        tone="warn",
    )


def _nobody_verified(facts: PromotionFacts) -> PromotionStatus:
    seats = _free_seats(facts) if facts.free else f"Every seat is taken ({_held_seats(facts)})"
    return PromotionStatus(
        Cause.UNVERIFIED,
        "Nobody waiting has verified their email address.",
        f"{seats}. An unverified application keeps its place, but no seat is offered for it.",
        "The first to enter the emailed code is next. Unverified applications end after 24 hours.",
        "The first one ends",
        facts.first_verify_by,
    )


def _nobody_waiting(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.NOBODY_WAITS,
        "Nobody is waiting.",
        f"Everyone in this line holds {plural(facts.held, 'the seat', 'a seat')}:"
        f" {_held_seats(facts)}.",
        "The next person who applies joins the waitlist as number 1.",
        tone="good",
    )


def _seats_free(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.SEATS_FREE,
        f"{_free_seats(facts)}, and nobody is waiting.",
        "So there is nobody to promote.",
        f"The next person who applies {_gets(facts)} {plural(facts.free, 'it', 'one')}.",
        tone="good",
    )


def _cooling_down(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.COOL_DOWNS,
        "Nobody waiting can be promoted yet.",
        f"{_free_seats(facts)}. People cannot be promoted during the cool-down after a missed"
        " deadline or a passed turn, or before a date that they chose. Everyone keeps their place.",
        f"A new applicant, without a cool-down from an earlier application, {_gets(facts)} one.",
        "The first person can be promoted again",
        facts.first_eligible,
    )


def _reserved(facts: PromotionFacts) -> PromotionStatus:
    free = ngettext(
        "%(number)s seat is free, and reserved.",
        "%(number)s seats are free, and reserved.",
        facts.reserved_free,
    )
    return PromotionStatus(
        Cause.RESERVED,
        _("Only reserved seats are free."),
        free % {"number": f"{facts.reserved_free:,}"},
        _("Nobody of the group who can take one waits. Everyone else gets the next other seat."),
        *_deadline(facts),
    )


def _promoting(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.MOVING,
        "The line is moving: someone was promoted within the last hour.",
        f"{plural(facts.capacity, 'The seat', 'Every seat')} is taken again ({_held_seats(facts)}),"
        f" and {people(facts.verified)} {plural(facts.verified, 'waits', 'wait')}.",
        _next_seat(facts),
        *_deadline(facts),
        tone="good",
    )


def _full(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.NO_SEAT_FREE,
        "No seat is free.",
        f"{plural(facts.capacity, 'The only seat is', f'All {facts.capacity:,} seats are')} taken:"
        f" {_held_seats(facts)}.",
        _next_seat(facts) + ("" if facts.pending else " Nothing happens until then."),
        *_deadline(facts),
        tone="plain" if facts.pending else "warn",
    )


def _next_seat(facts: PromotionFacts) -> str:
    whom = plural(facts.active, "the person", "someone")
    own = f"A seat opens when you decide on {whom} in review"
    if not facts.pending:
        return f"{own}, or when {plural(facts.active, 'they withdraw', 'one of them withdraws')}."
    if not facts.active:
        return "A seat opens when someone passes, withdraws or misses the deadline."
    return f"{own}, or when a deadline passes."


def _deadline(facts: PromotionFacts) -> tuple[str, datetime | None]:
    if facts.pending and facts.first_deadline:
        return "The next deadline is", facts.first_deadline
    return "", None


def _held_seats(facts: PromotionFacts) -> str:
    parts = [f"{facts.active:,} in review"] if facts.active else []
    parts += [f"{facts.pending:,} must confirm"] if facts.pending else []
    return " and ".join(parts) or "nobody"


def _gets(facts: PromotionFacts) -> str:
    return "is offered" if facts.offers_first_seat else "gets"


def _free_seats(facts: PromotionFacts) -> str:
    return f"{facts.free:,} {plural(facts.free, 'seat is', 'seats are')} free"


# The causes, in the order in which they are checked.
_ANSWERS: list[tuple[Callable[[PromotionFacts], object], Callable[..., PromotionStatus]]] = [
    (lambda f: f.status == "DRAFT", _draft),
    (lambda f: f.status == "CLOSED" and f.waiting + f.pending, _closing_out),
    (lambda f: f.status == "CLOSED", _closed),
    (lambda f: f.overdue_since and not f.worker_alive, _worker_silent),
    (lambda f: f.overdue_since, _settling),
    (lambda f: f.status == "PAUSED", _paused),
    (lambda f: f.is_filled, _filled),
    (lambda f: f.held > f.capacity, _draining),
    (lambda f: f.unverified and not f.verified, _nobody_verified),
    (lambda f: f.free and not f.waiting, _seats_free),
    (lambda f: not f.waiting, _nobody_waiting),
    (lambda f: f.free, _cooling_down),
    (lambda f: f.reserved_free, _reserved),
    (lambda f: f.last_promotion and f.now - f.last_promotion < LATELY, _promoting),
    (lambda _: True, _full),
]


class _SeatCounts(Protocol):
    status: str
    active_count: int
    pending_count: int

    @property
    def seats_free(self) -> int: ...
    @property
    def reserved_seats_free(self) -> int: ...


def describe_seats(job: _SeatCounts) -> str:
    """Say how many seats of a job are used for what: 3 in review, 1 offered, 2 free."""
    is_closed = job.status == "CLOSED"
    free, reserved = (0, 0) if is_closed else (job.seats_free, job.reserved_seats_free)
    counts = [
        (_("%(number)s in review"), job.active_count),
        (_("%(number)s offered"), job.pending_count),
        (_("%(number)s free"), free),
        (_("%(number)s reserved and free"), reserved),
    ]
    used = [words % {"number": f"{number:,}"} for words, number in counts if number]
    return ", ".join(used) or _("nobody in review")


# Reason why nobody is being promoted before the order of a line is drawn by lot. Pure.


def describe_pending_draw(facts: PromotionFacts, draw_at: datetime) -> PromotionStatus:
    """Return the status of a job that takes applications and whose draw is still to come."""
    part = (
        f"{facts.waiting:,} {plural(facts.waiting, 'application takes', 'applications take')} part"
    )
    if draw_at <= facts.now:
        return PromotionStatus(
            Cause.DRAW,
            "The order is about to be drawn by lot.",
            f"{part}. The draw is due, and happens before anything else in this line.",
            "Then the people at the front are offered the seats.",
            "Due",
            draw_at,
            tone="plain" if facts.worker_alive else "bad",
        )
    return PromotionStatus(
        Cause.DRAW,
        "The order is still to be drawn by lot.",
        f"{part} so far. Nobody gets a seat before the draw.",
        "After the draw, the people at the front are offered the seats.",
        "The draw is",
        draw_at,
    )


# Sentences about how long a person will probably wait. Pure.


NOT_KNOWN = "How long you will wait is not known yet."
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class _Forecast(Protocol):
    @property
    def half(self) -> int: ...

    @property
    def most(self) -> int: ...


class DescribedProspect(Protocol):
    """The fields of a prospect that its sentences use."""

    @property
    def forecast(self) -> _Forecast: ...

    @property
    def counted(self) -> int: ...

    @property
    def share(self) -> int | None: ...


def describe_prospect(prospect: DescribedProspect) -> str:
    """Say when people in a place will most likely be offered a seat."""
    return _("You should get a seat %(wait)s.") % {"wait": describe_wait(prospect)}


def describe_wait(prospect: DescribedProspect) -> str:
    """Return the time in which half, and four fifths, of the people in a place are offered a seat.

    Words to end a sentence with: "in 4 to 9 days", "in about 3 days", "in 20 hours to 3 days".
    """
    half, most = (_count_wait(each) for each in (prospect.forecast.half, prospect.forecast.most))
    if half == most:
        return _("in about %(wait)s") % {"wait": _format_wait(*most)}
    least = f"{half[0]:,}" if half[1] == most[1] else _format_wait(*half)
    return _("in %(least)s to %(most)s") % {"least": least, "most": _format_wait(*most)}


def describe_least_wait(seconds: int) -> str:
    """Say how long a person waits at least, because people further ahead wait as long."""
    wait = _format_wait(*_count_wait(seconds, rounded=floor))
    return _("You will probably wait more than %(wait)s for a seat.") % {"wait": wait}


def describe_forecast_accuracy(counted: int, share: int | None) -> str:
    """Say how many of the last forecasts of a job came true; nothing while there are too few."""
    if share is None:
        return ""
    return f"{share}% of the last {counted:,} forecasts here were right."


def _count_wait(seconds: float, *, rounded: Callable[[float], int] = ceil) -> tuple[int, str]:
    """Return a duration, rounded, in the largest unit of which it has at least two."""
    for unit, size in _UNITS:
        if seconds >= 2 * size or unit == "minute":
            return max(1, rounded(seconds / size)), unit
    raise AssertionError("a minute is the last unit")


def _format_wait(number: int, unit: str) -> str:
    return f"{number:,} {plural(number, unit)}"


# Explanations of why a person's place in line changed. Pure.


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """Last change of a person's place in line.

    `people` is how many people the event affected at that time. `own` means that the person was one
    of them.
    """

    event: EventType
    at: datetime
    people: int = 1
    own: bool = False


def explain_moved_position(change: PlaceChange) -> str:
    """Explain the last change of a person's place in line."""
    known = _OWN_CHANGES if change.own else _CHANGES_BY_ONE
    if change.own or change.event in known:
        return str(known.get(change.event, ""))  # nothing for an offer: they wait no longer
    who = "Someone"
    if change.people > 1:
        who = capitalized(format_count(change.people, "person", "people"))
    by = format_number(change.people)
    match change.event:
        case EventType.PROMOTED:
            were = plural(change.people, "was", "were")
            return f"{who} ahead of you {were} offered a seat, so you moved up by {by}."
        case EventType.VERIFIED:
            came = plural(change.people, "has", "have")
            return (
                f"{who} who joined before you {came} verified their email address. You moved back"
                f" by {by}."
            )
        case EventType.REINSTATED:
            are = plural(change.people, "is", "are")
            return (
                f"{who} {are} ahead of you again: the company cancelled a miss or a decision."
                f" You moved back by {by}."
            )
        case EventType.PASSED:
            are = plural(change.people, "is", "are")
            return f"{who} who passed a turn {are} ahead of you again. You moved back by {by}."
        case EventType.APPLIED | EventType.DECAYED:
            came = plural(change.people, "has", "have")
            return (
                f"{who} {came} joined ahead of you, because your miss cost you places. You moved"
                f" back by {by}."
            )
    return f"{who} ahead of you left the line, so you moved up by {by}."


_CHANGES_BY_ONE: dict[EventType, str | Promise] = {
    EventType.MOVED_AHEAD: gettext_lazy(
        "Someone behind you was moved ahead by an exception. You moved back by one."
    ),
}
_OWN_CHANGES: dict[EventType, str | Promise] = {
    EventType.APPLIED: "You joined the line.",
    EventType.VERIFIED: "Your email address was verified, so you have your place in line.",
    EventType.PLACED: "The order was drawn by lot, and this gave you your place.",
    EventType.DECAYED: "You missed a deadline, so your place is further back now.",
    EventType.PASSED: "You passed a turn, and kept your place.",
    EventType.REINSTATED: "The company gave you back the place you had before.",
    EventType.MOVED_AHEAD: gettext_lazy("The company moved you to the front by an exception."),
}
