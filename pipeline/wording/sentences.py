"""Sentences about log events for each kind of reader. Pure.

Applicants read "you"; companies read "the applicant". No sentence holds a name, an address or free
text: the log has none. Times are to the minute, or to the second where several lie within minutes,
and name their zone, UTC or the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.domain.amounts import Amount
from pipeline.domain.contests import ANSWER, ANSWER_BY
from pipeline.domain.events import OPENS_AND_CLOSES, Told, What, put_forward, with_reason
from pipeline.domain.place import TIMED_WISHES, WISHES
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    CLOSES_AT,
    DRAW_AT,
    EXCEPTION,
    FILLED_BY,
    OPENS_AT,
    PEOPLE_PASSED,
    PLANNED_CHANGE,
    PLANNED_SEATS,
    POSITIONS,
    QUESTION_ID,
    RESERVED_SEATS,
    RESERVED_UNTIL,
    TIME_ZONE,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Reason,
)
from pipeline.domain.verbs import AFTER_REMOVAL, DECLARED
from pipeline.wording.english import format_time, long_duration
from pipeline.wording.events import CONTEST_REASON_WORDS, REASON_WORDS
from pipeline.wording.exceptions import REASON_WORDS as EXCEPTION_REASON_WORDS
from pipeline.wording.language import in_a_row

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

# Times of an event that lie nearer to each other than this show seconds.
NEAR = timedelta(minutes=10)
# A pause after a miss or a pass that is shorter than this is not spoken of.
SHORTEST_PAUSE = timedelta(minutes=1)


class DescribedEvent(Protocol):
    """The fields of a log row that its sentence uses."""

    event: str
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any


class Reader(Enum):
    """Reader of a sentence: the applicant, who is "you", or anyone else."""

    APPLICANT = "applicant"
    COMPANY = "company"


# What is said of each kind of event, or of each status or outcome it can lead to.
SENTENCES: dict[tuple[EventType, What], Told] = {
    (event, what): told for event, each in DECLARED.items() for what, told in each.sentences.items()
}


def compose(
    event: DescribedEvent, reader: Reader, zone: tzinfo = UTC, *, cause: str | None = None
) -> str:
    """Return a sentence about an event. Raises KeyError for an event that cannot happen.

    `cause`: the kind of event that caused this one, where the reader knows it.
    """
    kind = EventType(event.event)
    for what in (*_kinds_of_sentence(event, cause), None):
        if told := SENTENCES.get((kind, what)):
            facts = _facts(event, zone)
            said = (each for each in (told, *told.then) if not each.given or facts[each.given])
            return in_a_row(*(_text(each, reader).format(**facts) for each in said))
    raise KeyError((event.event, event.to_status, event.outcome))


def _text(told: Told, reader: Reader) -> _StrPromise:
    return told.applicant if reader is Reader.APPLICANT else told.company or told.applicant


def _facts(event: DescribedEvent, zone: tzinfo) -> dict[str, Any]:
    """Return the values for the places in the sentences about an event, by name."""
    data, seconds = event.data, _are_times_near(event)
    reason = data.get("reason")
    decided = event.event == EventType.REMOVED
    places, since = data.get("places", 0), _end_of_pause(event, zone)
    amounts = {
        "places": places,
        "seats": data.get("capacity", 0),
        "positions": data.get(POSITIONS) or 0,
        "reserved": data.get(RESERVED_SEATS) or 0,
        "passed": data.get(PEOPLE_PASSED, 0),
        "drawn": data.get("drawn", 0),
        "closing": -data.get(PLANNED_CHANGE, 0),
    }
    times = {
        "verify_by": "verify_by",
        **{name: name for name in TIMED_WISHES},
        "accepted_until": ACCEPTED_UNTIL,
        "reserved_until": RESERVED_UNTIL,
        "opens": OPENS_AT,
        "closes": CLOSES_AT,
        "answer_by": ANSWER_BY,
        "given": "missed",
    }
    return {
        **{name: Amount(amount) for name, amount in amounts.items()},
        **{name: format_time(data.get(of), zone) for name, of in times.items()},
        "deadline": format_time(data.get("deadline"), zone, seconds=seconds),
        "missed": format_time(event.effective_at, zone, seconds=seconds),
        "planned": format_time(event.effective_at, zone),
        "quiet": data.get(TIME_ZONE, ""),
        "since": since,
        "after_a_pass": since and "passed_at" in data,
        "after_a_miss": since and "passed_at" not in data,
        "to_the_end": not places,
        "why": REASON_WORDS[Reason(reason)] if decided and reason else "",
        "why_back": CONTEST_REASON_WORDS.get(reason, ""),
        "why_answered": CONTEST_REASON_WORDS.get(reason, ""),
        "why_ahead": EXCEPTION_REASON_WORDS.get(data.get(EXCEPTION), ""),
        "moved": long_duration(data.get("seconds", 0)),
    }


# The names in an event's data that change its sentence.
_FACTS = (
    *(VIA_KEY, QUESTION_ID, ACCEPTED_UNTIL, PLANNED_SEATS, DRAW_AT, FILLED_BY, POSITIONS),
    *(RESERVED_UNTIL, RESERVED_SEATS),
    *WISHES,
)


def _kinds_of_sentence(event: DescribedEvent, cause: str | None) -> Iterator[What]:
    """Yield what can choose the sentence about an event, the most telling first."""
    unverified = UNVERIFIED if event.data.get("verify_by") else None
    is_removal = event.event == EventType.REINSTATED and "missed" not in event.data
    answer = AFTER_REMOVAL if is_removal else event.data.get(ANSWER)
    facts = [each for each in _FACTS if each in event.data]
    if {OPENS_AT, CLOSES_AT} <= event.data.keys():
        facts.append(OPENS_AND_CLOSES)
    facts += [each for each in (OPENS_AT, CLOSES_AT) if each in event.data]
    kinds = (cause, event.outcome, event.to_status, event.actor_kind)
    is_put_forward = event.event == EventType.APPLIED and event.actor_kind == ActorKind.COMPANY
    is_reasoned = event.event == EventType.REMOVED and event.data.get("reason")
    for kind in filter(None, (answer, unverified, *facts, *kinds)):
        if is_put_forward:
            yield put_forward(kind)
        if is_reasoned:
            yield with_reason(kind)
        yield kind


def _are_times_near(event: DescribedEvent) -> bool:
    """Tell whether an event's times are too close to tell apart by the minute."""
    if event.event == EventType.DEADLINE_EXTENDED:  # the sentence has one time only
        return False
    later = (event.data.get(name) for name in ("deadline", "eligible_at"))
    gaps = (datetime.fromisoformat(str(time)) - event.effective_at for time in later if time)
    return any(timedelta(0) <= gap < NEAR for gap in gaps)


def _end_of_pause(event: DescribedEvent, zone: tzinfo) -> str:
    """Return from when the person can be offered a seat again; empty if that is at once."""
    eligible_at = event.data.get("eligible_at")
    if eligible_at is None:
        return ""
    pause = datetime.fromisoformat(str(eligible_at)) - event.effective_at
    if timedelta(0) <= pause < SHORTEST_PAUSE:
        return ""
    return format_time(eligible_at, zone, seconds=_are_times_near(event))
