"""Sentences that say, with names, what a button will do or has done. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.companies import UndoTimes
from jobs.models import Job, JobStatus
from pipeline.form.versions import Draft
from pipeline.selectors.board import LOOKED_AHEAD
from pipeline.wording.english import isolated, joined, long_duration
from pipeline.wording.events import UNFILLED_SEATS
from pipeline.wording.language import number as in_digits

# What follows for a seat of a job with reserved seats: who is next depends on the seat.
RESERVED = gettext_lazy("a reserved seat goes only to people of its group, any other to the line")
MOVED_ON = gettext_lazy(
    "The line has moved on since you opened this page, so the consequences have changed. Read them"
    " again before you confirm."
)


def join_names(names: Sequence[str], total: int) -> str:
    """Join names and count the rest: Ana Li, Bo Berg and 3 more."""
    shown = [isolated(name) or _("someone without a name") for name in names]
    more = total - len(shown)
    if more > 0:
        # Translators: The last of a list of names: Ana Li, Bo Berg and 3 more.
        rest = ngettext("%(number)s more", "%(number)s more", more)
        shown.append(rest % {"number": in_digits(more)})
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
    return words % {"number": in_digits(number)}


def describe_done_promotion(names: Sequence[str], total: int) -> str:
    """Return a sentence on who has just been promoted, or an empty string."""
    if not total:
        return ""
    done = ngettext("%(names)s was promoted.", "%(names)s were promoted.", total)
    return f" {done % {'names': join_names(names, total)}}"


# What follows from a decision, as clauses: "Then <b>the seat goes to Ana Li</b>."


def describe_opened_seat(job: Job, next_name: str | None) -> str:
    """Describe the consequence of a person leaving a seat now."""
    if idle := UNFILLED_SEATS.get(JobStatus(job.status)):
        return str(idle)
    if job.is_filled:
        return _("all positions are filled, so nobody gets the seat")
    held = job.active_count + job.pending_count - 1
    if held >= job.capacity:
        return _describe_seat_holders(job, held)
    if job.reserved_seats:
        return str(RESERVED)
    if next_name is not None:
        return _("the seat goes to %(name)s") % {"name": join_names([next_name], 1)}
    if job.people_waiting > LOOKED_AHEAD:
        return _("the seat goes to the first person in line who can take it now")
    if job.people_waiting:
        return _("the seat stays free until someone waiting can take it")
    return _("the seat stays free for the next applicant")


def _describe_seat_holders(job: Job, held: int) -> str:
    if job.capacity == 1:
        words = ngettext(
            "nobody is promoted: %(held)s person still holds 1 seat",
            "nobody is promoted: %(held)s people still hold 1 seat",
            held,
        )
    else:
        words = ngettext(
            "nobody is promoted: %(held)s person still holds %(capacity)s seats",
            "nobody is promoted: %(held)s people still hold %(capacity)s seats",
            held,
        )
    return words % {"held": in_digits(held), "capacity": in_digits(job.capacity)}


def describe_many_leaving(job: Job, *, seats: int, names: Sequence[str]) -> str:
    """Describe the consequence of several people leaving, who hold `seats` in all.

    `names` are the first people who could then be promoted, in order, at most one for each seat.
    """
    if not seats:
        return _("no seat opens, and nobody is promoted")
    given = {"seats": in_digits(seats)}
    held = job.active_count + job.pending_count - seats
    follows = _describe_idle_seats(job, seats, held)
    if follows:
        opens = ngettext("%(seats)s seat opens", "%(seats)s seats open", seats) % given
        # Translators: Two clauses: "3 seats open; nobody is promoted".
        return _("%(opens)s; %(follows)s") % {"opens": opens, "follows": follows}
    if names:
        words = ngettext(
            "%(seats)s seat opens, for %(names)s", "%(seats)s seats open, for %(names)s", seats
        )
        return words % {**given, "names": join_names(names[:3], len(names))}
    if job.people_waiting > LOOKED_AHEAD:
        return (
            ngettext(
                "%(seats)s seat opens, for the first people who can take one now",
                "%(seats)s seats open, for the first people who can take one now",
                seats,
            )
            % given
        )
    return (
        ngettext(
            "%(seats)s seat opens, for people who can take one later or who apply next",
            "%(seats)s seats open, for people who can take one later or who apply next",
            seats,
        )
        % given
    )


def _describe_idle_seats(job: Job, seats: int, held: int) -> str:
    """Say why nobody is named for seats that open; return an empty string if someone may be."""
    match JobStatus(job.status):
        case JobStatus.PAUSED:
            return ngettext(
                "the seat stays free while the job is paused",
                "the seats stay free while the job is paused",
                seats,
            )
        case JobStatus.CLOSED:
            return ngettext(
                "the job is closed, so nobody gets the seat",
                "the job is closed, so nobody gets the seats",
                seats,
            )
    if job.is_filled:
        return _("all positions are filled, so nobody is promoted")
    if held >= job.capacity:
        return _describe_seat_holders(job, held)
    return str(RESERVED) if job.reserved_seats else ""


def describe_moving_up(behind: int) -> str:
    """Describe the consequence of a person leaving the line for the people behind them."""
    if not behind:
        return _("nobody is waiting behind")
    return ngettext(
        "%(count)s person behind moves up by one",
        "%(count)s people behind move up by one",
        behind,
    ) % {"count": in_digits(behind)}


def describe_reinstatement(job: Job, *, position: int, stood: int) -> str:
    """Describe the consequence of giving a person a former place back.

    `stood` is their position now, or the one behind everyone if they are not waiting.
    """
    if job.status == JobStatus.OPEN and job.seats_free:
        return _("a seat is free, so it goes to them at once, and nobody moves back")
    passed, place = stood - position, in_digits(position)
    if passed <= 0:
        words = _("they are number %(position)s in line again, and nobody moves back")
        return words % {"position": place}
    return ngettext(
        "they are number %(position)s in line again, and %(count)s person behind moves back by one",
        "they are number %(position)s in line again, and %(count)s people behind move back by one",
        passed,
    ) % {"position": place, "count": in_digits(passed)}


def describe_resuming(job: Job, names: Sequence[str]) -> str:
    """Describe what follows when a paused job resumes. `names`: the first who could be promoted."""
    free = job.seats_free
    if not free or not job.people_waiting or job.awaits_draw:
        return _("When you resume, people can apply again.")
    names = names[:free]
    if not names or (len(names) < free and job.people_waiting > LOOKED_AHEAD):
        return _("When you resume, free seats go to the next in line.")
    return ngettext(
        "When you resume, %(names)s is promoted at once.",
        "When you resume, %(names)s are promoted at once.",
        len(names),
    ) % {"names": join_names(names[:2], len(names))}


def describe_capacity(job: Job, capacity: int, names: Sequence[str]) -> str:
    """Describe the consequence of a new number of seats.

    `names` are the first people who could be promoted, in order.
    """
    held = job.active_count + job.pending_count
    if capacity < held:
        return _describe_lack(held, held - capacity)
    added = min(capacity - held, job.people_waiting)
    if capacity <= job.capacity or added <= 0:
        return _("Nobody is promoted, and nobody loses a seat.")
    return _explain_idle_seats(job) or _describe_promotions(job, added, names)


def _explain_idle_seats(job: Job) -> str:
    """Say why free seats promote nobody whom the page could name; empty if they do."""
    if job.is_filled:
        return _("All positions are filled, so nobody is promoted.")
    if job.reserved_seats:
        return _(
            "Of the free seats, a reserved seat goes only to people of its group, any other to the"
            " line."
        )
    if job.awaits_draw:
        return _("The order is still to be drawn, so nobody is promoted now.")
    if job.status != JobStatus.OPEN:
        return _("The job is not open, so nobody is promoted now.")
    return ""


def _describe_promotions(job: Job, added: int, names: Sequence[str]) -> str:
    """Say who gets the seats that are added."""
    if not names and job.people_waiting > LOOKED_AHEAD:
        words = _("The first people who can take a seat now are promoted at once, up to %(count)s.")
        return words % {"count": in_digits(added)}
    if not names:
        return _("Nobody waiting can take a seat now, so nobody is promoted yet.")
    if len(names) < added and job.people_waiting > LOOKED_AHEAD:
        return ngettext(
            "Up to %(count)s person is promoted at once, starting with %(name)s.",
            "Up to %(count)s people are promoted at once, starting with %(name)s.",
            added,
        ) % {"count": in_digits(added), "name": isolated(names[0])}
    total = min(added, len(names))
    words = ngettext("%(names)s is promoted at once.", "%(names)s are promoted at once.", total)
    return words % {"names": join_names(names[: min(3, total)], total)}


def _describe_lack(held: int, over: int) -> str:
    """Say that more people hold a seat than there will be seats."""
    now = ngettext(
        "%(held)s person holds a seat now, %(over)s more than that allows.",
        "%(held)s people hold a seat now, %(over)s more than that allows.",
        held,
    ) % {"held": in_digits(held), "over": in_digits(over)}
    then = ngettext(
        "Nobody loses a seat: seats close as people leave, and nobody is promoted until %(count)s"
        " person has left.",
        "Nobody loses a seat: seats close as people leave, and nobody is promoted until %(count)s"
        " people have left.",
        over + 1,
    ) % {"count": f"{over + 1:,}"}
    return f"{now} {then}"


def describe_added_seat(job: Job, names: Sequence[str]) -> str:
    """Describe the consequence of one more seat. `names` as above."""
    fills = job.status == JobStatus.OPEN and not job.awaits_draw and not job.is_filled
    fits = job.active_count + job.pending_count <= job.capacity
    if fills and fits and not names and job.people_waiting <= LOOKED_AHEAD:
        if not job.waitlist_count:
            return _("With one more seat: nobody is waiting, so nobody is promoted.")
        return _(
            "With one more seat: it stays free for now, because nobody waiting can be offered one"
            " yet."
        )
    follows = describe_capacity(job, job.capacity + 1, names)
    # Translators: A whole sentence follows the colon.
    return _("With one more seat: %(follows)s") % {"follows": follows}
