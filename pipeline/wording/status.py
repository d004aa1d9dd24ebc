"""Words about the state of a line: promotions, draws, forecasts, moves. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from pipeline.domain.amounts import Amount
from pipeline.wording.language import in_a_row

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
        _("The job is a draft."),
        _("Only your company sees it, so nobody can apply yet."),
        _("Open it and people can apply. They are offered seats while there are free ones.")
        if facts.offers_first_seat
        else _("Open it and people can apply. They get seats while there are free ones."),
        tone="warn",
    )


def _closing_out(facts: PromotionFacts) -> PromotionStatus:
    left = facts.waiting + facts.pending
    still = ngettext(
        "%(number)s person is still in line. The worker releases them in batches.",
        "%(number)s people are still in line. The worker releases them in batches.",
        left,
    )
    return PromotionStatus(
        Cause.CLOSING_OUT,
        _("The job is closed. Everyone without a confirmed seat is being released."),
        still % {"number": Amount(left)},
        _("This takes moments, even for a long line. People in review stay until you decide."),
        tone="warn" if facts.worker_alive else "bad",
    )


def _closed(facts: PromotionFacts) -> PromotionStatus:
    stays = ngettext(
        "%(number)s person in review stays until you decide.",
        "%(number)s people in review stay until you decide.",
        facts.active,
    )
    return PromotionStatus(
        Cause.CLOSED,
        _("The job is closed."),
        _("Nobody can apply and nobody is waiting."),
        stays % {"number": Amount(facts.active)}
        if facts.active
        else _("Nothing is left to do here."),
    )


def _worker_silent(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.WORKER_SILENT,
        _("The worker that enforces deadlines is not running."),
        _(
            "A change in this line is overdue. It will be settled as soon as anyone acts on this"
            " job, and nobody loses a place because of the delay. Until then, nothing happens."
        ),
        _(
            "Ask the operator of this site to start the decay worker (“System” shows when it was"
            " last seen)."
        ),
        # Translators: a time follows, also below: “It was last seen 3 hours ago”.
        _("It was last seen") if facts.worker_seen else _("It was never seen. Overdue since"),
        facts.worker_seen or facts.overdue_since,
        tone="bad",
    )


def _settling(facts: PromotionFacts) -> PromotionStatus:
    return PromotionStatus(
        Cause.SETTLING,
        _("The line is being settled."),
        _("A deadline has passed, and the worker is processing it."),
        _("This page shows the result within moments."),
        # Translators: a time follows: “Due 3 minutes ago”.
        pgettext("time", "Due"),
        facts.overdue_since,
    )


def _paused(facts: PromotionFacts) -> PromotionStatus:
    text = _(
        "Nobody can apply and nobody is promoted. People may still confirm or withdraw, and"
        " deadlines still run."
    )
    resumed = _("Resume it, and it continues where it stopped.")
    if facts.free and facts.verified:
        resumed = _("Resume it, and free seats go at once to the next people in line.")
    return PromotionStatus(
        Cause.PAUSED,
        _("The job is paused."),
        in_a_row(text, _free_seats(facts)) if facts.free else text,
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
    title = _("More people hold a seat than there are seats now: %(held)s of %(seats)s.")
    if facts.verified:
        over += 1
        follows = ngettext(
            "After %(number)s of them has left, the next in line is promoted.",
            "After %(number)s of them have left, the next in line is promoted.",
            over,
        )
    else:
        follows = ngettext(
            "After %(number)s of them leaves, the job is within its seats.",
            "After %(number)s of them leave, the job is within its seats.",
            over,
        )
    return PromotionStatus(
        Cause.DRAINING,
        title % {"held": Amount(facts.held), "seats": Amount(facts.capacity)},
        _("The number of seats was lowered. Nobody loses a seat: seats close as people leave."),
        follows % {"number": Amount(over)},
        *_deadline(facts),
        tone="warn",
    )


def _nobody_verified(facts: PromotionFacts) -> PromotionStatus:
    taken = _("Every seat is taken (%(held)s).") % {"held": _held_seats(facts)}
    kept = _("An unverified application keeps its place, but no seat is offered for it.")
    return PromotionStatus(
        Cause.UNVERIFIED,
        _("Nobody waiting has verified their email address."),
        f"{_free_seats(facts) if facts.free else taken} {kept}",
        _(
            "The first to enter the emailed code is next. Unverified applications end after 24"
            " hours."
        ),
        # Translators: a time follows: “The first one ends in 3 hours”.
        _("The first one ends"),
        facts.first_verify_by,
    )


def _nobody_waiting(facts: PromotionFacts) -> PromotionStatus:
    held = _("Everyone in this line holds a seat: %(held)s.")
    if facts.held == 1:
        held = _("Everyone in this line holds the seat: %(held)s.")
    return PromotionStatus(
        Cause.NOBODY_WAITS,
        _("Nobody is waiting."),
        held % {"held": _held_seats(facts)},
        _("The next person who applies joins the waitlist as number 1."),
        tone="good",
    )


def _seats_free(facts: PromotionFacts) -> PromotionStatus:
    title = ngettext(
        "%(number)s seat is free, and nobody is waiting.",
        "%(number)s seats are free, and nobody is waiting.",
        facts.free,
    )
    if facts.offers_first_seat:
        follows = ngettext(
            "The next person who applies is offered it.",
            "The next person who applies is offered one.",
            facts.free,
        )
    else:
        follows = ngettext(
            "The next person who applies gets it.",
            "The next person who applies gets one.",
            facts.free,
        )
    return PromotionStatus(
        Cause.SEATS_FREE,
        title % {"number": Amount(facts.free)},
        _("So there is nobody to promote."),
        follows,
        tone="good",
    )


def _cooling_down(facts: PromotionFacts) -> PromotionStatus:
    why = _(
        "People cannot be promoted during the cool-down after a missed deadline or a passed turn,"
        " or before a date that they chose. Everyone keeps their place."
    )
    follows = _("A new applicant, without a cool-down from an earlier application, gets one.")
    if facts.offers_first_seat:
        follows = _(
            "A new applicant, without a cool-down from an earlier application, is offered one."
        )
    return PromotionStatus(
        Cause.COOL_DOWNS,
        _("Nobody waiting can be promoted yet."),
        in_a_row(_free_seats(facts), why),
        follows,
        # Translators: a time follows: “The first person can be promoted again in 3 hours”.
        _("The first person can be promoted again"),
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
        free % {"number": Amount(facts.reserved_free)},
        _("Nobody of the group who can take one waits. Everyone else gets the next other seat."),
        *_deadline(facts),
    )


def _promoting(facts: PromotionFacts) -> PromotionStatus:
    taken = ngettext(
        "Every seat is taken again (%(held)s), and %(number)s person waits.",
        "Every seat is taken again (%(held)s), and %(number)s people wait.",
        facts.verified,
    )
    if facts.capacity == 1:
        taken = ngettext(
            "The seat is taken again (%(held)s), and %(number)s person waits.",
            "The seat is taken again (%(held)s), and %(number)s people wait.",
            facts.verified,
        )
    names = {"held": _held_seats(facts), "number": Amount(facts.verified)}
    return PromotionStatus(
        Cause.MOVING,
        _("The line is moving: someone was promoted within the last hour."),
        taken % names,
        _next_seat(facts),
        *_deadline(facts),
        tone="good",
    )


def _full(facts: PromotionFacts) -> PromotionStatus:
    taken = _("The only seat is taken: %(held)s.")
    if facts.capacity > 1:
        taken = ngettext(
            "%(seats)s seat is taken: %(held)s.",
            "All %(seats)s seats are taken: %(held)s.",
            facts.capacity,
        )
    still = _("Nothing happens until then.")
    return PromotionStatus(
        Cause.NO_SEAT_FREE,
        _("No seat is free."),
        taken % {"seats": Amount(facts.capacity), "held": _held_seats(facts)},
        _next_seat(facts) if facts.pending else in_a_row(_next_seat(facts), still),
        *_deadline(facts),
        tone="plain" if facts.pending else "warn",
    )


def _next_seat(facts: PromotionFacts) -> str:
    if facts.pending and not facts.active:
        return _("A seat opens when someone passes, withdraws or misses the deadline.")
    if facts.pending:
        return ngettext(
            "A seat opens when you decide on the person in review, or when a deadline passes.",
            "A seat opens when you decide on someone in review, or when a deadline passes.",
            facts.active,
        )
    return ngettext(
        "A seat opens when you decide on the person in review, or when they withdraw.",
        "A seat opens when you decide on someone in review, or when one of them withdraws.",
        facts.active,
    )


def _deadline(facts: PromotionFacts) -> tuple[str, datetime | None]:
    if facts.pending and facts.first_deadline:
        # Translators: a time follows: “The next deadline is in 3 hours”.
        return _("The next deadline is"), facts.first_deadline
    return "", None


def _held_seats(facts: PromotionFacts) -> str:
    names = {"active": Amount(facts.active), "pending": Amount(facts.pending)}
    if facts.active and facts.pending:
        return (
            ngettext(
                "%(active)s in review and %(pending)s must confirm",
                "%(active)s in review and %(pending)s must confirm",
                facts.pending,
            )
            % names
        )
    if facts.active:
        return ngettext("%(active)s in review", "%(active)s in review", facts.active) % names
    if facts.pending:
        must = ngettext("%(pending)s must confirm", "%(pending)s must confirm", facts.pending)
        return must % names
    return pgettext("who holds seats", "nobody")


def _free_seats(facts: PromotionFacts) -> str:
    free = ngettext("%(number)s seat is free.", "%(number)s seats are free.", facts.free)
    return free % {"number": Amount(facts.free)}


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
    offered = job.pending_count
    counts = [
        (
            ngettext("%(active)s in review", "%(active)s in review", job.active_count),
            job.active_count,
        ),
        (ngettext("%(offered)s offered", "%(offered)s offered", offered), offered),
        (ngettext("%(free)s free", "%(free)s free", free), free),
        (
            ngettext("%(reserved)s reserved and free", "%(reserved)s reserved and free", reserved),
            reserved,
        ),
    ]
    names = {
        "active": Amount(job.active_count),
        "offered": Amount(offered),
        "free": Amount(free),
        "reserved": Amount(reserved),
    }
    used = [words % names for words, number in counts if number]
    # Translators: between the parts of a list without “and”: 3 in review, 1 offered, 2 free.
    return pgettext("list", ", ").join(used) or _("nobody in review")


# Reason why nobody is being promoted before the order of a line is drawn by lot. Pure.


def describe_pending_draw(facts: PromotionFacts, draw_at: datetime) -> PromotionStatus:
    """Return the status of a job that takes applications and whose draw is still to come."""
    names = {"number": Amount(facts.waiting)}
    if draw_at <= facts.now:
        part = ngettext(
            "%(number)s application takes part. The draw is due, and happens before anything else"
            " in this line.",
            "%(number)s applications take part. The draw is due, and happens before anything else"
            " in this line.",
            facts.waiting,
        )
        return PromotionStatus(
            Cause.DRAW,
            _("The order is about to be drawn by lot."),
            part % names,
            _("Then the people at the front are offered the seats."),
            # Translators: a time follows: “Due 3 minutes ago”.
            pgettext("time", "Due"),
            draw_at,
            tone="plain" if facts.worker_alive else "bad",
        )
    part = ngettext(
        "%(number)s application takes part so far. Nobody gets a seat before the draw.",
        "%(number)s applications take part so far. Nobody gets a seat before the draw.",
        facts.waiting,
    )
    return PromotionStatus(
        Cause.DRAW,
        _("The order is still to be drawn by lot."),
        part % names,
        _("After the draw, the people at the front are offered the seats."),
        # Translators: a time follows: “The draw is in 3 hours”.
        _("The draw is"),
        draw_at,
    )
