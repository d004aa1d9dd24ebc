"""Sentences that say, with names, what a button will do or has done. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.companies import UndoTimes
from jobs.models import Job, JobStatus
from pipeline.form.versions import Draft
from pipeline.selectors.board import LOOKED_AHEAD
from pipeline.wording.english import count, isolated, joined, long_duration, people, plural
from pipeline.wording.events import UNFILLED_SEATS

# What follows for a seat of a job with reserved seats: who is next depends on the seat.
RESERVED = gettext_lazy("a reserved seat goes only to people of its group, any other to the line")
MOVED_ON = (
    "The line has moved on since you opened this page, so the consequences have changed. Read them"
    " again before you confirm."
)


def join_names(names: Sequence[str], total: int) -> str:
    """Join names and count the rest: Ana Li, Bo Berg and 3 more."""
    shown = [isolated(name) or "someone without a name" for name in names]
    more = total - len(shown)
    if more > 0:
        shown.append(f"{more:,} more")
    return joined(shown)


def describe_undo(times: UndoTimes) -> str:
    """Say how long decisions can be undone, in sentences."""
    removal, hiring = (long_duration(each) for each in times)
    if times.removal and times.hiring and times.removal != times.hiring:
        return _(
            "A rejection or removal takes effect after %(removal)s, a hire after %(hiring)s. Until"
            " then you can undo it. Nobody is told before."
        ) % {"removal": removal, "hiring": hiring}
    if times.removal and times.hiring:
        return _(
            "A decision takes effect after %(time)s. Until then you can undo it. Nobody is told"
            " before."
        ) % {"time": removal}
    if times.removal:
        return _(
            "A rejection or removal takes effect after %(time)s. Until then you can undo it. Nobody"
            " is told before. A hire is final."
        ) % {"time": removal}
    if times.hiring:
        return _(
            "A hire takes effect after %(time)s. Until then you can undo it. Nobody is told before."
            " A rejection or removal is final."
        ) % {"time": hiring}
    return _("A decision is final.")


def describe_opened_form(form: Draft) -> str:
    """Say what people are asked once a draft opens: it publishes the questions as they are."""
    number = len(form.questions)
    if not number:
        return _("It asks for a name and an email address only.")
    words = ngettext(
        "Its question is published with it.",
        "Its %(number)s questions are published with it.",
        number,
    )
    return words % {"number": number}


def describe_promotion(names: Sequence[str], total: int) -> str:
    """Say who is promoted: Ana Li is promoted, Ana Li and Bo Berg are promoted."""
    return f"{join_names(names, total)} {plural(total, 'is', 'are')} promoted"


def describe_done_promotion(names: Sequence[str], total: int) -> str:
    """Return a sentence on who has just been promoted, or an empty string."""
    if not total:
        return ""
    return f" {join_names(names, total)} {plural(total, 'was', 'were')} promoted."


def describe_opened_seat(job: Job, next_name: str | None) -> str:
    """Describe the consequence of a person leaving a seat now."""
    if idle := UNFILLED_SEATS.get(JobStatus(job.status)):
        return str(idle)
    if job.is_filled:
        return _("all positions are filled, so nobody gets the seat")
    held = job.active_count + job.pending_count - 1
    if held >= job.capacity:
        return f"nobody is promoted: {_describe_seat_holders(job, held)}"
    if job.reserved_seats:
        return str(RESERVED)
    if next_name is not None:
        return f"the seat goes to {join_names([next_name], 1)}"
    if job.people_waiting > LOOKED_AHEAD:
        return "the seat goes to the first person in line who can take it now"
    if job.people_waiting:
        return "the seat stays free until someone waiting can take it"
    return "the seat stays free for the next applicant"


def _describe_seat_holders(job: Job, held: int) -> str:
    return f"{people(held)} still {plural(held, 'holds', 'hold')} {count(job.capacity, 'seat')}"


def describe_many_leaving(job: Job, *, seats: int, names: Sequence[str]) -> str:
    """Describe the consequence of several people leaving, who hold `seats` in all.

    `names` are the first people who could then be promoted, in order, at most one for each seat.
    """
    if not seats:
        return "no seat opens, and nobody is promoted"
    opens = f"{count(seats, 'seat')} {plural(seats, 'opens', 'open')}"
    held = job.active_count + job.pending_count - seats
    if idle := UNFILLED_SEATS.get(JobStatus(job.status)):
        return f"{opens}; {idle}"
    if job.is_filled:
        return _("%(opens)s; all positions are filled, so nobody is promoted") % {"opens": opens}
    if held >= job.capacity:
        return f"{opens}; nobody is promoted: {_describe_seat_holders(job, held)}"
    if job.reserved_seats:
        return f"{opens}; {RESERVED}"
    if names:
        return f"{opens}, for {join_names(names[:3], len(names))}"
    if job.people_waiting > LOOKED_AHEAD:
        return f"{opens}, for the first people who can take one now"
    return f"{opens}, for people who can take one later or who apply next"


def describe_reinstatement(job: Job, *, position: int, stood: int) -> str:
    """Describe the consequence of giving a person a former place back.

    `stood` is their position now, or the one behind everyone if they are not waiting.
    """
    if job.status == JobStatus.OPEN and job.seats_free:
        return "a seat is free, so it goes to them at once, and nobody moves back"
    follow, passed = "nobody moves back", stood - position
    if passed > 0:
        follow = f"{people(passed)} behind {plural(passed, 'moves', 'move')} back by one"
    return f"they are number {position:,} in line again, and {follow}"


def describe_capacity(job: Job, capacity: int, names: Sequence[str]) -> str:
    """Describe the consequence of a new number of seats.

    `names` are the first people who could be promoted, in order.
    """
    held = job.active_count + job.pending_count
    if capacity < held:
        over = held - capacity
        return (
            f"{people(held)} {plural(held, 'holds', 'hold')} a seat now, {over:,} more than that"
            " allows. Nobody loses a seat: seats close as people leave, and nobody is promoted"
            f" until {people(over + 1)} have left."
        )
    added = min(capacity - held, job.people_waiting)
    if capacity <= job.capacity or added <= 0:
        return "Nobody is promoted, and nobody loses a seat."
    if job.is_filled or job.reserved_seats:
        filled = _("All positions are filled, so nobody is promoted.")
        return filled if job.is_filled else _("Of the free seats, %s.") % RESERVED
    if job.status != JobStatus.OPEN or job.awaits_draw:
        why = "order is still to be drawn" if job.awaits_draw else "job is not open"
        return f"The {why}, so nobody is promoted now."
    if not names and job.people_waiting > LOOKED_AHEAD:
        return f"The first people who can take a seat now are promoted at once, up to {added:,}."
    if not names:
        return "Nobody waiting can take a seat now, so nobody is promoted yet."
    if len(names) < added and job.people_waiting > LOOKED_AHEAD:
        return f"Up to {people(added)} are promoted at once, starting with {isolated(names[0])}."
    total = min(added, len(names))
    return f"{describe_promotion(names[: min(3, total)], total)} at once."


def describe_added_seat(job: Job, names: Sequence[str]) -> str:
    """Describe the consequence of one more seat, to follow a colon. `names` as above."""
    fills = job.status == JobStatus.OPEN and not job.awaits_draw and not job.is_filled
    fits = job.active_count + job.pending_count <= job.capacity
    if fills and fits and not names and job.people_waiting <= LOOKED_AHEAD:
        if not job.waitlist_count:
            return "nobody is waiting, so nobody is promoted."
        return "it stays free for now, because nobody waiting can be offered one yet."
    follows = describe_capacity(job, job.capacity + 1, names)
    begins_with_name = follows.startswith(tuple(map(isolated, names)))
    return follows if begins_with_name else follows[:1].lower() + follows[1:]
