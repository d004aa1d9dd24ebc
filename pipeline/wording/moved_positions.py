"""Explanations of why a person's place in line changed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pipeline.domain.states import EventType
from pipeline.wording.english import capitalized, count_in_words, number_in_words, plural


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
    if change.own:
        return _OWN_CHANGES.get(change.event, "")  # an offer: they wait no longer
    who = "Someone"
    if change.people > 1:
        who = capitalized(count_in_words(change.people, "person", "people"))
    by = number_in_words(change.people)
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
                f"{who} {are} ahead of you again, because the company cancelled their missed"
                f" deadline or a decision. You moved back by {by}."
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


_OWN_CHANGES = {
    EventType.APPLIED: "You joined the line.",
    EventType.VERIFIED: "Your email address was verified, so you have your place in line.",
    EventType.PLACED: "The order was drawn by lot, and this gave you your place.",
    EventType.DECAYED: "You missed a deadline, so your place is further back now.",
    EventType.PASSED: "You passed a turn, and kept your place.",
    EventType.REINSTATED: "The company gave you back the place you had before.",
}
