"""Words for people who think of applying: the line now, and three steps. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import Job, JobStatus
from pipeline.domain.amounts import Amount
from pipeline.wording.explanations import explain_quiet_hours, window_in_words
from pipeline.wording.language import in_a_row
from pipeline.wording.waiting import NOT_KNOWN


@dataclass(frozen=True, slots=True)
class StepWords:
    """One of the three steps from applying to an answer."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerPace:
    """Time in which the company aims to answer, in words, and in how many of ten cases it did."""

    aim: str = ""
    tenths: int | None = None


def describe_numbers(job: Job) -> str:
    """Return the seats of a job and the people waiting: "3 seats, 21 waiting"."""
    seats = ngettext("%(number)s seat", "%(number)s seats", job.capacity)
    names = {
        "seats": seats % {"number": Amount(job.capacity)},
        "people": Amount(job.people_waiting),
        "free": Amount(job.seats_free),
    }
    # Translators: {seats} is like “3 seats”. The plural form follows the other number.
    if job.awaits_draw:
        return (
            ngettext(
                "%(seats)s, %(people)s taking part",
                "%(seats)s, %(people)s taking part",
                job.people_waiting,
            )
            % names
        )
    if job.seats_free and not job.is_filled and job.status == JobStatus.OPEN:
        free = ngettext("%(seats)s, %(free)s free", "%(seats)s, %(free)s free", job.seats_free)
        return free % names
    if not job.people_waiting:
        return _("%(seats)s, nobody waiting") % names
    waiting = ngettext(
        "%(seats)s, %(people)s waiting", "%(seats)s, %(people)s waiting", job.people_waiting
    )
    return waiting % names


def describe_outlook(
    job: Job,
    wait: str,
    draw: str = "",
    least: str | Promise = NOT_KNOWN,
    *,
    is_verified: bool = False,
) -> str:
    """Say what a person who applies to an open job today can expect.

    `wait`: the time until a seat in words, if it is known; `draw`: the time of the draw in words;
    `least`: the sentence for a wait that is not known. `is_verified`: they have proved their
    address. Everyone else joins the line first, and confirms even a seat that is free.
    """
    if job.is_filled:
        return _("You can join the line.")
    if job.awaits_draw:
        return _(
            "Apply before %(draw)s. The order is then drawn by lot, so it does not matter who"
            " applies first."
        ) % {"draw": draw}
    if job.seats_free:
        return _describe_free_seat(job, is_verified=is_verified)
    names = {"wait": wait, "window": window_in_words(job.policy)}
    confirm = _("You then have %(window)s to confirm.") % names
    if wait:
        return in_a_row(_("Apply today and you should get a seat %(wait)s.") % names, confirm)
    return str(least) if job.people_waiting else _("You would be first in line.")


def _describe_free_seat(job: Job, *, is_verified: bool) -> str:
    now = _("A seat is free now.")
    if job.people_waiting:
        others = _("Nobody on the waitlist can take a seat right now, so you would get this one.")
        now = in_a_row(now, others)
    if is_verified and not job.policy.acknowledge_first_seat:
        return in_a_row(now, _("Apply, and it is yours."))
    how = _("Apply, and it is offered to you.")
    if not is_verified:
        how = _("Apply and enter our code, and it is offered to you.")
    return in_a_row(now, how)  # the steps say how long they have to confirm


def describe_steps(job: Job, pace: AnswerPace) -> list[StepWords]:
    """Return the three steps: joining the line, the turn, the answer."""
    return [
        StepWords(_("1. Join the line"), _describe_joining(job)),
        StepWords(_("2. Your turn"), _describe_turn(job)),
        StepWords(_("3. An answer"), _describe_answer(pace)),
    ]


def _describe_joining(job: Job) -> str:
    if job.awaits_draw:
        return _("Everyone who applies before the draw has the same chance.")
    if job.status == JobStatus.OPEN and job.seats_free and not job.is_filled:
        return _("You need not wait.")
    names = {"number": Amount(job.people_waiting + 1)}
    return _("You would be number %(number)s. Those who come later stand behind you.") % names


def _describe_turn(job: Job) -> str:
    names = {"window": window_in_words(job.policy)}
    turn = _("We email you. Confirm within %(window)s and the seat is yours.") % names
    return in_a_row(turn, explain_quiet_hours(job.policy))


def _describe_answer(pace: AnswerPace) -> str:
    reads = _("A seat means a person reads your application. It is not the job.")
    if not pace.aim:
        return reads
    if not pace.tenths:
        return in_a_row(reads, _("The company aims to answer within %(aim)s.") % {"aim": pace.aim})
    names = {"aim": pace.aim, "tenths": pace.tenths}
    if pace.tenths == 10:
        return in_a_row(reads, _("Everyone so far heard back within %(aim)s.") % names)
    return in_a_row(reads, _("%(tenths)d of 10 hear back within %(aim)s.") % names)
