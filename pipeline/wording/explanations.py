"""How a line works and what happens next in it, in plain English, made from its policy. Pure.

Written for the people who wait: they are "you". No sentence holds a name or an address.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from jobs.policies import Policy
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.wording.event_words import ENDING_WORDS
from pipeline.wording.sentences import time_in_words

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_FEW = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides what happens to somebody who does nothing. Times are aware."""

    status: Status
    policy: Policy
    now: datetime
    outcome: Outcome | None = None
    job_status: str = "OPEN"
    position: int | None = None
    misses: int = 0
    deadline: datetime | None = None
    eligible_at: datetime | None = None

    @property
    def is_cooling(self) -> bool:
        """Whether no seat can be offered yet because of a miss."""
        return self.eligible_at is not None and self.eligible_at > self.now

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed; the line has not dealt with it yet."""
        return self.deadline is not None and self.deadline <= self.now


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """What last changed somebody's place in line.

    `people` of whom it happened at that time; `own` when it happened to themselves.
    """

    event: EventType
    at: datetime
    people: int = 1
    own: bool = False


def how_the_line_works(policy: Policy, capacity: int) -> list[str]:
    """Six sentences about a job's line: seats, coming in, offers, a miss, too many, the pause."""
    return [
        f"{_seats(capacity)}; everybody else waits in one line, strictly in the order in which"
        " they joined; nobody is put in front of you unless you miss a deadline.",
        _coming_in(policy),
        "When a seat opens, it is offered at once to the first in line, who is told by mail and"
        f" has {span(policy.acknowledgment_window_seconds)} to confirm it.",
        f"If you do not confirm in time, the seat goes to the next in line and you go"
        f" {_behind(policy, 1)}{_and_more(policy)}.",
        _misses_allowed(policy),
        f"After a miss no seat is offered to you for {span(policy.cooldown_seconds)}: you keep"
        " your place, and seats that open meanwhile go to those behind you.",
    ]


def what_if_nothing(standing: Standing, zone: tzinfo = UTC) -> str:
    """What happens to somebody who does nothing; for who is out, what can still be done."""
    match standing.status:
        case Status.WAITLIST:
            return _while_waiting(standing, zone)
        case Status.PENDING_ACKNOWLEDGMENT:
            return _while_pending(standing, zone)
        case Status.ACTIVE:
            return (
                "You keep the seat until the company decides. There is nothing that you have to do"
                " here: the company gets in touch with you."
            )
    return ENDING_WORDS[standing.outcome or Outcome.REMOVED].advice


def why_moved(change: PlaceChange) -> str:
    """Why somebody's place in line last changed."""
    if change.own:
        return (
            "You joined the line."
            if change.event is EventType.APPLIED
            else "You missed a deadline, so your place is further back now."
        )
    who = "Somebody" if change.people == 1 else f"{_number(change.people).capitalize()} people"
    by = _number(change.people)
    match change.event:
        case EventType.PROMOTED:
            were = "was" if change.people == 1 else "were"
            return f"{who} ahead of you {were} offered a seat, so you moved up by {by}."
        case EventType.APPLIED | EventType.DECAYED:
            came = "has" if change.people == 1 else "have"
            return (
                f"{who} {came} come in ahead of you, because your miss had cost you places: you"
                f" moved back by {by}."
            )
    return f"{who} ahead of you left the line, so you moved up by {by}."


def span(seconds: int) -> str:
    """A span of time in words, in its two largest units: 1 day and 6 hours."""
    parts, left = [], seconds
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}" if count == 1 else f"{count} {unit}s")
    return " and ".join(parts[:2]) or "no time"


def _seats(capacity: int) -> str:
    if capacity == 1:
        return "One applicant at a time has the seat for review"
    return f"{capacity:,} applicants at a time have a seat for review"


def _coming_in(policy: Policy) -> str:
    if policy.acknowledge_first_seat:
        return (
            "If a seat is free when you apply, it is offered to you, and you confirm it like"
            " everybody else."
        )
    return (
        "If a seat is free when you apply, it is yours at once; only if your email address is not"
        " proved yet, you confirm it first."
    )


def _behind(policy: Policy, misses: int) -> str:
    places = policy.places_lost(misses)
    if not places:
        return "to the back of the line"
    newcomers = "next newcomer passes" if places == 1 else f"next {places:,} newcomers pass"
    return f"{_count(places, 'place')} behind the back of the line: the {newcomers} you"


def _and_more(policy: Policy) -> str:
    if not policy.penalty_places or policy.max_decays in (0, 1):
        return ""
    return f"; a second miss costs {policy.places_lost(2):,} places, and so on"


def _misses_allowed(policy: Policy) -> str:
    if policy.max_decays is None:
        return "However many deadlines you miss, you stay in line."
    if policy.max_decays == 0:
        return "The first missed deadline ends the application; you can apply again, further back."
    kept = _count(policy.max_decays, "missed deadline")
    return (
        f"After {kept} you are still in line; one more ends the application. You can apply again,"
        " but the misses still count."
    )


def _while_waiting(standing: Standing, zone: tzinfo) -> str:
    if standing.job_status == "CLOSED":
        return "The job has been closed, so your application is about to end."
    window = span(standing.policy.acknowledgment_window_seconds)
    turn = (
        f"You keep your place in line. When it is your turn we send you a mail, and you have"
        f" {window} to confirm."
    )
    if standing.job_status == "PAUSED":
        turn += " The company has paused this job: until it goes on, nobody is offered a seat."
    if standing.is_cooling:
        until = time_in_words(standing.eligible_at, zone)
        turn += f" Because of the missed deadline no seat is offered to you before {until}."
    return turn


def _while_pending(standing: Standing, zone: tzinfo) -> str:
    if standing.job_status == "CLOSED":
        return "The job has been closed, so your application is about to end."
    if standing.is_late:
        return (
            "The deadline has passed, so the seat is going to the next in line. This page shows in"
            " a moment where you stand now."
        )
    until = time_in_words(standing.deadline, zone)
    return f"At {until} the seat goes to the next in line, and {_loss(standing)}"


def _loss(standing: Standing) -> str:
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
        times = _count(left, "more time", "more times")
        after = f"After that you could miss {times}; the next miss ends the application."
    pause = span(policy.cooldown_seconds)
    return f"you go {_behind(policy, misses)}. No seat is offered to you for {pause}. {after}"


def _number(count: int) -> str:
    return _FEW[count] if count < len(_FEW) else f"{count:,}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{_number(number)} {one if number == 1 else many or one + 's'}"
