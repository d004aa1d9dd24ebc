"""Sentences about what people want of their turn. Pure."""

from __future__ import annotations

from pipeline.domain.states import EventType

# The name in an event's data of the time before which the person wants no seat.
NOT_BEFORE = "not_before"
# The name of the time until which the person accepts a seat in advance.
ACCEPT_UNTIL = "accept_until"
# The name of the wish to pass the next turn.
PASS_NEXT = "pass_next"  # noqa: S105

WISH_SENTENCES: dict[tuple[EventType, str | None], str] = {
    (EventType.DEFERRED, NOT_BEFORE): (
        "{They} asked for no seat before {not_before}. The place in line stays the same. Seats "
        "that open earlier go to people behind."
    ),
    (EventType.DEFERRED, None): "{They} can be offered a seat at any time again.",
    (EventType.PREACCEPTED, ACCEPT_UNTIL): (
        "{They} said yes in advance: a seat that opens for {they} before {accept_until} is "
        "confirmed at once. The place in line stays the same."
    ),
    (EventType.PREACCEPTED, None): (
        "{They} took back {own} yes in advance. {They} will be asked to confirm a seat."
    ),
    (EventType.PASS_ASKED, PASS_NEXT): (
        "{They} asked to pass {own} next turn. When it comes, the seat goes to the next in line, "
        "and the place in line stays the same."
    ),
    (EventType.PASS_ASKED, None): (
        "{They} took back {own} wish to pass the next turn. {They} will be offered a seat then."
    ),
    (EventType.PASSED, None): (
        "{They} passed {own} turn and did not take the seat. This does not count as a miss, "
        "and the place in line stays the same.{cooldown}"
    ),
}
