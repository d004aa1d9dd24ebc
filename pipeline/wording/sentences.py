"""Sentences about log events for each kind of reader, in one table. Pure.

Applicants read "you"; companies read "the applicant". No sentence holds a name, an address or free
text: the log has none. Times are to the minute, or to the second where several lie within minutes,
and name their zone, UTC or the reader's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import Any, Protocol

from pipeline.domain.contests import ANSWER, ANSWER_BY, ContestAnswer
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    DRAW_AT,
    PLANNED_SEATS,
    TIME_ZONE,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Outcome,
    Reason,
    Status,
)
from pipeline.wording.english import (
    capitalized,
    count,
    long_duration,
    plural,
    time_in_words,
)
from pipeline.wording.events import (
    ACCEPT_UNTIL,
    CONTEST_REASON_WORDS,
    NOT_BEFORE,
    PASS_NEXT,
    REASON_WORDS,
    WISH_SENTENCES,
)

# Times of an event that lie nearer to each other than this show seconds.
NEAR = timedelta(minutes=10)


class DescribedEvent(Protocol):
    """The fields of a log row that its sentence uses."""

    event: str
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any


class Reader(Enum):
    """Reader of a sentence, with the words it uses for the applicant."""

    APPLICANT = {"They": "You", "they": "you", "their": "your", "own": "your", "were": "were"}
    COMPANY = {
        "They": "The applicant",
        "they": "the applicant",
        "their": "the applicant’s",
        "own": "their",  # where the sentence has just named the person
        "were": "was",
    }


# A place that was given back although no deadline had been missed.
AFTER_REMOVAL = "removal"
_DEADLINE = " It must be confirmed by {deadline}, or it goes to the next in line.{quiet}"

# A sentence for each kind of event, or for each status or outcome it can lead to.
SENTENCES: dict[tuple[EventType, Status | Outcome | str | None], str] = {
    (EventType.APPLIED, UNVERIFIED): (
        "Someone applied with {their} email address, which is not verified yet. The application "
        "keeps its place in line, but it can only be offered a seat once the address is verified. "
        "Otherwise it ends at {verify_by}."
    ),
    (EventType.LAPSED, UNVERIFIED): (
        "Nobody verified the email address by {missed}, so the application ended. This does "
        "not count as a miss if {they} apply again."
    ),
    (EventType.APPLIED, Status.ACTIVE): "{applied}. A seat was free, so {they} got it at once.",
    (EventType.APPLIED, Status.PENDING_ACKNOWLEDGMENT): (
        "{applied}. A seat was free, so {they} {were} offered it." + _DEADLINE
    ),
    (EventType.APPLIED, DRAW_AT): (
        "{applied} before the draw. The order of everyone in line is drawn by lot, and then the "
        "people at the front are offered the seats."
    ),
    (EventType.APPLIED, Status.WAITLIST): (
        "{applied} and joined the waitlist: {they} will be promoted when a seat opens and "
        "everyone ahead in line has had a turn.{cooldown}"
    ),
    (EventType.VERIFIED, None): (
        "{They} verified the email address and can now be offered a seat. {Their} place in line "
        "stays the same."
    ),
    (EventType.PROMOTED, None): (
        "A seat opened and it was {their} turn, so it was offered to {they}." + _DEADLINE
    ),
    (EventType.PROMOTED, EventType.PASSED): (
        "The person ahead passed their turn, so the seat was offered to {they}." + _DEADLINE
    ),
    (EventType.PROMOTED, EventType.VERIFIED): (
        "A seat was free, so it was offered to {they}." + _DEADLINE
    ),
    (EventType.PROMOTED, PLANNED_SEATS): (
        "A planned seat opened and it was {their} turn, so it was offered to {they}." + _DEADLINE
    ),
    (EventType.PROMOTED, ACCEPTED_UNTIL): (
        "A seat was free and it was {their} turn. {They} had accepted it in advance."
    ),
    (EventType.ACKNOWLEDGED, ACCEPTED_UNTIL): (
        "{They} had said yes in advance to any seat before {accepted_until}, so the seat was "
        "confirmed at once. It is {their} seat until the company decides."
    ),
    (EventType.ACKNOWLEDGED, None): (
        "{They} confirmed the seat in time. It is {their} seat until the company decides."
    ),
    (EventType.ACKNOWLEDGED, VIA_KEY): (
        "{They} confirmed the seat in time, on the company’s own site. It is {their} seat until "
        "the company decides."
    ),
    (EventType.DEADLINE_EXTENDED, None): (
        "{They} lost time to confirm the seat through no fault of {own} own, so the "
        "deadline was extended to {deadline}.{quiet}"
    ),
    (EventType.DECAYED, None): (
        "{They} missed the deadline of {missed} and lost the seat. {loss}.{cooldown}"
    ),
    (EventType.LAPSED, Outcome.LAPSED): (
        "{They} missed the deadline of {missed}. That is one miss more than this job allows, so "
        "the application ended. {They} can apply again, but the misses still count."
    ),
    (EventType.REINSTATED, None): (
        "The company gave {they} back the place in line from before the missed deadline of {given}."
        " Its reason: {why_back}. That miss no longer counts, and there is no cool-down after it."
    ),
    (EventType.REINSTATED, AFTER_REMOVAL): (
        "The company reversed its decision and gave {they} {their} earlier place back. Its reason:"
        " {why_back}."
    ),
    (EventType.PLACED, None): (
        "The order of everyone in line was drawn by lot, and this gave {they} {their} place. "
        "People who apply later join behind."
    ),
    (EventType.WITHDRAWN, Outcome.WITHDRAWN): (
        "{They} withdrew the application and left the line."
    ),
    (EventType.WITHDRAWN, VIA_KEY): (
        "{They} withdrew the application on the company’s own site and left the line."
    ),
    (EventType.REMOVED, Outcome.REMOVED): (
        "The company removed {their} application from the line{why}. It has ended."
    ),
    (EventType.REMOVED, Outcome.REJECTED): (
        "The company decided against {their} application{why}. It has ended, and only the company "
        "can add {they} to this job again."
    ),
    (EventType.REMOVED, Outcome.HIRED): (
        "The company hired {they}{why}. The application has ended."
    ),
    (EventType.CLOSED_OUT, Outcome.JOB_CLOSED): (
        "The company closed the job before {they} had a confirmed seat, so the application ended."
    ),
    (EventType.CONTESTED, None): (
        "{They} asked the company to look again at how the application ended. The company must "
        "answer by {answer_by}."
    ),
    (EventType.CONTEST_ANSWERED, ContestAnswer.UPHELD): (
        "The company looked again at {their} application, which stays ended. Its reason: "
        "{why_answered}."
    ),
    (EventType.CONTEST_ANSWERED, ContestAnswer.CHANGED): (
        "The company looked again and gave {they} {their} place back. Its reason: {why_answered}."
    ),
    (EventType.CONTEST_ANSWERED, ContestAnswer.DROPPED): (
        "The request to look again ended without an answer, because {their} data was erased."
    ),
    (EventType.JOB_CREATED, None): "The company created the job, with {seats}.",
    (EventType.JOB_OPENED, None): "The company opened the job: people can apply.",
    (EventType.JOB_PAUSED, None): (
        "The company paused the job: nobody can apply and nobody is promoted, but deadlines still "
        "run."
    ),
    (EventType.JOB_RESUMED, None): (
        "The company resumed the job: people can apply, and free seats go to the next in line."
    ),
    (EventType.JOB_CLOSED, None): (
        "The company closed the job. Everyone without a confirmed seat is released."
    ),
    (EventType.CAPACITY_CHANGED, None): "The company changed how many seats there are: {seats}.",
    (EventType.CAPACITY_CHANGED, PLANNED_SEATS): (
        "As planned for {planned}, the number of seats changed: {seats}."
    ),
    (EventType.POLICY_CHANGED, None): (
        "The company changed the rules of the line. Running deadlines, places in line and "
        "cool-downs stay as they were."
    ),
    (EventType.DRAWN, None): (
        "As announced for {planned}, the order of the {drawn} in line was drawn by lot. The seed "
        "comes from the hash of the event before it and from the time of the draw."
    ),
    (EventType.CLOCK_ADVANCED, None): (
        "The company moved the clock of its sandbox forward by {moved}. What fell due in that time "
        "follows, each event at its own time."
    ),
    **WISH_SENTENCES,
}


def sentence(
    event: DescribedEvent, reader: Reader, zone: tzinfo = UTC, *, cause: str | None = None
) -> str:
    """Return a sentence about an event. Raises KeyError for an event that cannot happen.

    `cause`: the kind of event that caused this one, where the reader knows it.
    """
    words = reader.value
    reason = event.data.get("reason")
    seconds, quiet = _are_times_of_sentence_near(event), event.data.get(TIME_ZONE, "")
    decided = event.event == EventType.REMOVED
    facts = {
        "applied": (
            f"{words['They']} {words['were']} put forward by the company"
            if event.actor_kind == ActorKind.COMPANY
            else f"{words['They']} applied"
        ),
        "Their": capitalized(words["their"]),
        "deadline": time_in_words(event.data.get("deadline"), zone, seconds=seconds),
        "quiet": quiet and f" Quiet hours ({quiet} time) don’t count.",
        "verify_by": time_in_words(event.data.get("verify_by"), zone),
        "not_before": time_in_words(event.data.get(NOT_BEFORE), zone),
        "accept_until": time_in_words(event.data.get(ACCEPT_UNTIL), zone),
        "accepted_until": time_in_words(event.data.get(ACCEPTED_UNTIL), zone),
        "missed": time_in_words(event.effective_at, zone, seconds=seconds),
        "cooldown": _sentence_of_cooldown(event, words, zone),
        "loss": _sentence_of_loss(event.data.get("places", 0), words),
        "seats": count(event.data.get("capacity", 0), "seat"),
        "why": f" (reason: {REASON_WORDS[Reason(reason)]})" if decided and reason else "",
        "why_back": CONTEST_REASON_WORDS.get(reason, ""),
        "why_answered": CONTEST_REASON_WORDS.get(reason, ""),
        "answer_by": time_in_words(event.data.get(ANSWER_BY), zone),
        "given": time_in_words(event.data.get("missed"), zone),
        "planned": time_in_words(event.effective_at, zone),
        "drawn": count(event.data.get("drawn", 0), "application"),
        "moved": long_duration(event.data.get("seconds", 0)),
    }
    kind = EventType(event.event)
    unverified = UNVERIFIED if event.data.get("verify_by") else None
    is_removal = kind is EventType.REINSTATED and "missed" not in event.data
    answer = AFTER_REMOVAL if is_removal else event.data.get(ANSWER)
    facts_told = [each for each in _FACTS if each in event.data]
    known = filter(None, (answer, unverified, *facts_told, cause, event.outcome, event.to_status))
    for what in (*known, None):
        template = SENTENCES.get((kind, what))
        if template:
            return template.format_map(words | facts)
    raise KeyError((event.event, event.to_status, event.outcome))


# The names in an event's data that change its sentence.
_FACTS = (VIA_KEY, ACCEPTED_UNTIL, PLANNED_SEATS, DRAW_AT, NOT_BEFORE, ACCEPT_UNTIL, PASS_NEXT)


def _are_times_of_sentence_near(event: DescribedEvent) -> bool:
    """Tell whether an event's times are too close to tell apart by the minute."""
    if event.event == EventType.DEADLINE_EXTENDED:  # the sentence has one time only
        return False
    later = (event.data.get(name) for name in ("deadline", "eligible_at"))
    gaps = (datetime.fromisoformat(str(time)) - event.effective_at for time in later if time)
    return any(timedelta(0) <= gap < NEAR for gap in gaps)


def _sentence_of_cooldown(event: DescribedEvent, words: Mapping[str, str], zone: tzinfo) -> str:
    eligible_at = event.data.get("eligible_at")
    if eligible_at is None:
        return ""
    until = time_in_words(eligible_at, zone, seconds=_are_times_of_sentence_near(event))
    after = "a pass" if "passed_at" in event.data else "a miss"
    return f" After {after}, {words['they']} cannot be promoted again before {until}."


def _sentence_of_loss(places: int, words: Mapping[str, str]) -> str:
    back = f"{words['They']} went to the back of the line"
    if not places:
        return back
    joining = plural(places, "next person who joins goes", f"next {places} people who join go")
    return f"{back}, and the {joining} ahead of {words['they']}"
