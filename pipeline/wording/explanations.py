"""Explanations of a job's line and its policy for the people in it. Pure.

Applicants are "you". No sentence holds a name or an address.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.policies import Policy
from pipeline.domain.states import Outcome, Status
from pipeline.wording.english import format_count, format_time, long_duration, plural
from pipeline.wording.events import ENDING_WORDS, NEVER_VERIFIED, EndingWords


@dataclass(frozen=True, slots=True)
class ExplainedStanding:
    """The standing of one application in its line at `now`. Times are aware."""

    status: Status
    policy: Policy
    now: datetime
    outcome: Outcome | None = None
    job_status: str = "OPEN"
    position: int | None = None
    misses: int = 0
    deadline: datetime | None = None
    eligible_at: datetime | None = None
    not_before: datetime | None = None
    accept_until: datetime | None = None
    pass_next: bool = False
    passes: int = 0
    passed_at: datetime | None = None
    verify_by: datetime | None = None
    draw_at: datetime | None = None  # of a draw that is still to come

    @property
    def is_cooling(self) -> bool:
        """Return True during the cool-down after a miss or a pass."""
        return self.eligible_at is not None and self.eligible_at > self.now

    @property
    def is_deferring(self) -> bool:
        """Return True while the person wants no seat."""
        return self.not_before is not None and self.not_before > self.now

    @property
    def puts_turn_off(self) -> bool:
        """Return True while a wish makes the wait for a seat longer, so nothing is forecast."""
        return self.is_deferring or self.pass_next

    @property
    def is_accepting(self) -> bool:
        """Return True while the person accepts a seat in advance."""
        return self.accept_until is not None and self.accept_until > self.now

    @property
    def passes_left(self) -> int:
        """Return how many turns the person can still pass."""
        return self.policy.passes_left(self.passes)

    @property
    def is_verified(self) -> bool:
        """Return True if the address was proved or the company submitted the application."""
        return self.verify_by is None

    @property
    def ending(self) -> EndingWords:
        """Return the words about how the application ended."""
        if self.outcome is Outcome.LAPSED and not self.is_verified:
            return NEVER_VERIFIED
        return ENDING_WORDS[self.outcome or Outcome.REMOVED]

    @property
    def is_late(self) -> bool:
        """Return True if the deadline has passed but the line has not settled it yet."""
        return self.deadline is not None and self.deadline <= self.now


def explain_line(policy: Policy, capacity: int, draw: str = "") -> list[str]:
    """Return sentences on seats, joining, offers, a miss, too many misses and the cool-down.

    `draw`: the time of the draw by lot, in words, if the job has one. It comes first.
    """
    seats = f"{capacity:,} applicants at a time have a seat for review"
    if capacity == 1:
        seats = "One applicant at a time has the seat for review"
    coming_in = (
        "If a seat is free when you apply, and your email address is verified, it is yours at once."
        " Otherwise you keep a place in line, but we can’t offer you a seat until you enter the"
        " code that we email you."
    )
    if policy.acknowledge_first_seat:
        coming_in = (
            "If a seat is free when you apply, it is offered to you, and you confirm it like"
            " everyone else."
        )
    order = "in the order in which they joined"
    lot = []
    if draw:
        coming_in = f"After the draw: {coming_in[0].lower()}{coming_in[1:]}"
        order = "in the drawn order, and then in the order in which people joined"
        lot = [
            f"Everyone who applies before {draw} has the same chance. Then the order of"
            " everyone in line is drawn by lot, and the people at the front are offered the"
            " seats. Anyone in line can check the draw."
        ]
    second = ""
    if policy.penalty_places and policy.max_decays not in (0, 1):
        second = f"; after a second miss, behind the next {policy.places_lost(2):,}, and so on"
    return [
        *lot,
        f"{seats}, and everyone else waits in one line, {order}. Nobody who joined after you gets"
        " ahead of you unless you miss a deadline. You can ask not to be offered a seat until a"
        " date you choose, and keep your place. You can also say yes in advance: when your turn"
        " comes, the seat is yours at once. If the company cancels someone’s miss, or reverses a"
        " decision that it was asked to look at again, that person returns to the place they had.",
        coming_in,
        "When a seat opens, it is offered at once to the first in line, who gets an email and has"
        f" {long_duration(policy.acknowledgment_window_seconds)} to confirm it."
        + explain_quiet_hours(policy, names_zone=True),
        f"If you do not confirm in time, the seat goes to the next in line and you go"
        f" {_explain_place_behind(policy, 1)}{second}.",
        _explain_misses_allowed(policy),
        "After a miss, you are not offered a seat for"
        f" {long_duration(policy.cooldown_seconds)}. You keep your place, but seats that open"
        " meanwhile go to people behind you.",
        *explain_passes(policy),
    ]


def explain_passes(policy: Policy) -> list[str]:
    """Return what the rules say about passing a turn, in one sentence or none."""
    if not policy.max_passes:
        return []
    times = "twice" if policy.max_passes > 1 else "once"
    return [
        f"You can pass your turn {times}, before the offer or while it is open. It does not"
        " count as a miss and you keep your place, but seats that open in the"
        f" {long_duration(policy.cooldown_seconds)} after it go to people behind you."
    ]


def explain_quiet_hours(policy: Policy, *, names_zone: bool = False) -> str:
    """Say when the time to confirm does not run, as a sentence to append; empty if it always runs.

    With `names_zone`, also say which time zone counts if the person's own is not known.
    """
    quiet = explained_quiet_hours(policy, whose=" your time")
    if not quiet:
        return ""
    zone = f", in the time zone {policy.quiet_time_zone} if we do not know yours" * names_zone
    return f" That time does not run {quiet}{zone}."


def explained_quiet_hours(policy: Policy, *, whose: str = "") -> str:
    """Return words like "from 22:00 to 08:00 or at weekends"; empty without quiet hours."""
    quiet = [f"from {policy.quiet_from} to {policy.quiet_to}{whose}"] * bool(policy.quiet_from)
    return " or ".join(quiet + ["at weekends"] * policy.quiet_weekends)


def explain_doing_nothing(standing: ExplainedStanding, zone: tzinfo = UTC) -> str:
    """Say what happens if the person does nothing, or, after the end, what they can still do."""
    match standing.status:
        case Status.WAITLIST:
            return _explain_waiting(standing, zone)
        case Status.PENDING_ACKNOWLEDGMENT:
            if standing.job_status == "CLOSED":
                return "The job has been closed, so your application is about to end."
            if standing.is_late:
                return (
                    "The deadline has passed, so the seat is going to the next in line. Your new"
                    " place will appear here in a moment."
                )
            return (
                f"At the deadline the seat goes to the next in line, and {_explain_loss(standing)}"
            )
        case Status.ACTIVE:
            return (
                "You keep the seat until the company decides. You do not have to do anything here:"
                " the company will contact you."
            )
    return standing.ending.advice


def _explain_place_behind(policy: Policy, misses: int) -> str:
    places = policy.places_lost(misses)
    if not places:
        return "to the back of the line"
    newcomers = plural(places, "the next person", f"the next {places:,} people")
    return f"to the back of the line, behind even {newcomers} to join"


def _explain_misses_allowed(policy: Policy) -> str:
    if policy.max_decays is None:
        return "However many deadlines you miss, you stay in line."
    if policy.max_decays == 0:
        return "The first missed deadline ends the application; you can apply again, further back."
    kept = format_count(policy.max_decays, "missed deadline")
    return (
        f"After {kept} you are still in line; one more ends the application. You can apply again,"
        " but the misses still count."
    )


def _explain_waiting(standing: ExplainedStanding, zone: tzinfo) -> str:
    if standing.job_status == "CLOSED":
        return "The job has been closed, so your application is about to end."
    if not standing.is_verified:
        return (
            "You can’t be offered a seat until your email address is verified. If it is not"
            f" verified by {format_time(standing.verify_by, zone)}, the application ends. That"
            " does not count as a miss."
        )
    window = long_duration(standing.policy.acknowledgment_window_seconds)
    emailed = f"we email you, and you have {window} to confirm."
    emailed += explain_quiet_hours(standing.policy)
    turn = f"You keep your place in line. When it is your turn, {emailed}"
    if standing.pass_next:
        turn = "You keep your place in line."
    elif standing.is_accepting:
        until = format_time(standing.accept_until, zone)
        turn = (
            f"You keep your place in line. If your turn comes before {until}, the seat is yours at"
            f" once: you said yes. If it comes later, {emailed}"
        )
    if standing.draw_at:
        turn = (
            "There is nothing to do. The order of everyone in line is drawn by lot at"
            f" {format_time(standing.draw_at, zone)}. Then your place appears here, and the"
            " people at the front are offered the seats. Anyone in line can check the draw."
        )
    elif standing.job_status == "PAUSED":
        turn += " The company has paused this job. Nobody is offered a seat until it resumes."
    return turn + explain_wishes(standing, zone)


def explain_wishes(standing: ExplainedStanding, zone: tzinfo) -> str:
    """Say when the person is offered no seat, after a miss or as they asked."""
    turn = ""
    if standing.is_cooling:
        until = format_time(standing.eligible_at, zone)
        why = "you passed a turn" if standing.passed_at else "you missed a deadline"
        turn += f" Because {why}, you are not offered a seat before {until}."
    if standing.is_deferring:
        until = format_time(standing.not_before, zone)
        turn += (
            f" You asked not to be offered a seat until {until}. Seats that open earlier go to"
            " people behind you."
        )
    if standing.is_accepting and standing.draw_at:
        until = format_time(standing.accept_until, zone)
        turn += f" If your turn comes before {until}, the seat is yours at once: you said yes."
    if standing.pass_next:
        turn += " You pass your next turn: that seat goes to the person behind you."
    return turn


def _explain_loss(standing: ExplainedStanding) -> str:
    policy, misses = standing.policy, standing.misses + 1
    if not policy.keeps_place(misses):
        before = "" if policy.max_decays == 0 else f" This would be miss number {misses}."
        return f"your application ends.{before} You could apply again, further back."
    left = policy.misses_left(misses)
    if left is None:
        after = "However often that happens, you stay in line."
    elif left == 0:
        after = "The next miss after that ends the application."
    else:
        times = format_count(left, "more deadline", "more deadlines")
        after = f"You could then miss {times}; the one after that would end the application."
    pause = long_duration(policy.cooldown_seconds)
    behind = _explain_place_behind(policy, misses)
    return f"you go {behind}. You are not offered a seat for {pause}. {after}"


# How soon a company aims to decide, in words.

_DAY, _HOUR = 86_400, 3_600


def describe_target(seconds: int, *, works: bool) -> str:
    """Return a review target in words. With `works`, only the company's working hours count."""
    days, rest = divmod(seconds, _DAY)
    if not works:
        return long_duration(seconds)
    if days and not rest:
        return ngettext("%(days)d working day", "%(days)d working days", days) % {"days": days}
    if not days and rest % _HOUR == 0:
        hours = rest // _HOUR
        words = ngettext("%(hours)d working hour", "%(hours)d working hours", hours)
        return words % {"hours": hours}
    return _("%(duration)s of working time") % {"duration": long_duration(seconds)}


def describe_pace(tenths: int, target: str) -> str:
    """Return in words in how many of ten cases a company has met its target."""
    if tenths == 10:
        return _("Decided within %(target)s in every case") % {"target": target}
    if not tenths:
        return _("Decided within %(target)s in fewer than 1 of 10 cases") % {"target": target}
    words = _("Decided within %(target)s in %(tenths)d of 10 cases")
    return words % {"target": target, "tenths": tenths}
