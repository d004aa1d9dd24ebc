"""Sentences about log events for each kind of reader. Pure.

Applicants read "you"; companies read "the applicant". No sentence holds a name, an address or free
text: the log has none. Times are to the minute, or to the second where several lie within minutes,
and name their zone, UTC or the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import Any, Protocol

from django.utils.translation import gettext

from pipeline.domain.contests import ANSWER, ANSWER_BY
from pipeline.domain.events import OPENS_AND_CLOSES, What
from pipeline.domain.place import TIMED_WISHES, WISHES
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    CLOSES_AT,
    DRAW_AT,
    EXCEPTION,
    FILLED_BY,
    OPENS_AT,
    PEOPLE_PASSED,
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
from pipeline.wording.english import capitalized, count, format_time, long_duration, newcomers
from pipeline.wording.events import CONTEST_REASON_WORDS, REASON_WORDS
from pipeline.wording.exceptions import REASON_WORDS as EXCEPTION_REASON_WORDS

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
    """Reader of a sentence, with the words it uses for the applicant."""

    APPLICANT = {"They": "You", "they": "you", "their": "your", "own": "your", "were": "were"}
    COMPANY = {
        "They": "The applicant",
        "they": "the applicant",
        "their": "the applicant’s",
        "own": "their",  # where the sentence has just named the person
        "were": "was",
    }


# A sentence for each kind of event, or for each status or outcome it can lead to.
SENTENCES: dict[tuple[EventType, What], str] = {
    (event, what): text for event, each in DECLARED.items() for what, text in each.sentences.items()
}


def compose(
    event: DescribedEvent, reader: Reader, zone: tzinfo = UTC, *, cause: str | None = None
) -> str:
    """Return a sentence about an event. Raises KeyError for an event that cannot happen.

    `cause`: the kind of event that caused this one, where the reader knows it.
    """
    words = reader.value
    reason = event.data.get("reason")
    seconds, quiet = _are_times_near(event), event.data.get(TIME_ZONE, "")
    decided = event.event == EventType.REMOVED
    facts = {
        "applied": (
            f"{words['They']} {words['were']} put forward by the company"
            if event.actor_kind == ActorKind.COMPANY
            else f"{words['They']} applied"
        ),
        "Their": capitalized(words["their"]),
        "deadline": format_time(event.data.get("deadline"), zone, seconds=seconds),
        "quiet": quiet and f" Quiet hours ({quiet} time) don’t count.",
        "verify_by": format_time(event.data.get("verify_by"), zone),
        **{name: format_time(event.data.get(name), zone) for name in TIMED_WISHES},
        "accepted_until": format_time(event.data.get(ACCEPTED_UNTIL), zone),
        "missed": format_time(event.effective_at, zone, seconds=seconds),
        "cooldown": _cooldown_note(event, words, zone),
        "loss": _loss_note(event.data.get("places", 0), words),
        "seats": count(event.data.get("capacity", 0), "seat"),
        "positions": count(event.data.get(POSITIONS, 0), "position"),
        "reserved": count(event.data.get(RESERVED_SEATS, 0), "seat"),
        "reserved_until": format_time(event.data.get(RESERVED_UNTIL), zone),
        "opens": format_time(event.data.get(OPENS_AT), zone),
        "closes": format_time(event.data.get(CLOSES_AT), zone),
        "why": f" (reason: {REASON_WORDS[Reason(reason)]})" if decided and reason else "",
        "why_back": CONTEST_REASON_WORDS.get(reason, ""),
        "why_answered": CONTEST_REASON_WORDS.get(reason, ""),
        "why_ahead": str(EXCEPTION_REASON_WORDS.get(event.data.get(EXCEPTION), "")),
        "passed": count(event.data.get(PEOPLE_PASSED, 0), "person", "people"),
        "answer_by": format_time(event.data.get(ANSWER_BY), zone),
        "given": format_time(event.data.get("missed"), zone),
        "planned": format_time(event.effective_at, zone),
        "drawn": count(event.data.get("drawn", 0), "application"),
        "moved": long_duration(event.data.get("seconds", 0)),
    }
    kind = EventType(event.event)
    for what in (*_kinds_of_sentence(event, cause), None):
        template = SENTENCES.get((kind, what))
        if template:
            return gettext(template).format_map(words | facts)
    raise KeyError((event.event, event.to_status, event.outcome))


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
    yield from filter(None, (answer, unverified, *facts, *kinds))


def _are_times_near(event: DescribedEvent) -> bool:
    """Tell whether an event's times are too close to tell apart by the minute."""
    if event.event == EventType.DEADLINE_EXTENDED:  # the sentence has one time only
        return False
    later = (event.data.get(name) for name in ("deadline", "eligible_at"))
    gaps = (datetime.fromisoformat(str(time)) - event.effective_at for time in later if time)
    return any(timedelta(0) <= gap < NEAR for gap in gaps)


def _cooldown_note(event: DescribedEvent, words: Mapping[str, str], zone: tzinfo) -> str:
    """Say from when the person can be offered a seat again; nothing if that is at once."""
    eligible_at = event.data.get("eligible_at")
    if eligible_at is None:
        return ""
    pause = datetime.fromisoformat(str(eligible_at)) - event.effective_at
    if timedelta(0) <= pause < SHORTEST_PAUSE:
        return ""
    since = format_time(eligible_at, zone, seconds=_are_times_near(event))
    after = "a pass" if "passed_at" in event.data else "a miss"
    return f" After {after}, {words['they']} can be offered a seat again from {since}."


def _loss_note(places: int, words: Mapping[str, str]) -> str:
    if not places:
        return f"{words['They']} went to the end of the line"
    return f"{words['They']} went behind everyone in line and the {newcomers(places)}"
