"""Check of wishes in a log: who asks for no seat before a time, accepts one in advance, or passes.

All keep their place. The first get no seat before that time, the second get it at once, and the
last get none before the cool-down of the pass is over.

Like the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pipeline.domain.states import (
    ACCEPT_WITHIN,
    ACCEPTED_UNTIL,
    DEFER_WITHIN,
    ActorKind,
    EventType,
    Status,
)
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Event
from pipeline.selectors.past_states import PastPlace


class FoldedWish(NamedTuple):
    """Place of an application, and what keeps it from a seat."""

    ticket: int | None
    tie: int | None
    decay_count: int
    eligible_at: datetime | None
    not_before: datetime | None
    accept_until: datetime | None
    passes_used: int
    pass_next: bool
    passed_at: datetime | None
    acknowledge_by: datetime | None

    @classmethod
    def of_place(cls, place: PastPlace) -> FoldedWish:
        """Return the wish at a place as it is now."""
        return cls(*(getattr(place, name) for name in cls._fields))


# The wishes, which leave the place and every miss as they are.
WISHES = frozenset(("DEFERRED", "PREACCEPTED", "PASS_ASKED"))

# The field that each wish sets, how far ahead at most, and what it is called.
_TIMED = {
    EventType.DEFERRED.value: ("not_before", DEFER_WITHIN, "defers a turn"),
    EventType.PREACCEPTED.value: ("accept_until", ACCEPT_WITHIN, "accepts a seat"),
}


def wish_fault(event: Event, place: PastPlace, before: FoldedWish) -> str:
    """Name the fault of a wish, or of an event that one forbids; empty if all is well.

    A draw by lot changes nothing but the place. `place` is the one after the event.
    """
    held = FoldedWish.of_place(place)
    if event.event in _TIMED:
        return _fault_of_persons_wish(event, place, held, before)
    if event.event in (EventType.PASS_ASKED, EventType.PASSED):
        return ""  # checked by the passes
    if event.event == EventType.PLACED:
        placed = before._replace(ticket=place.ticket, tie=place.tie)
        return "" if held == placed else "it places someone by lot, and changes more than that"
    waits = place.status is Status.WAITLIST
    not_before, accept_until = (before.not_before, before.accept_until) if waits else (None, None)
    if held.not_before != not_before:
        return f"{event.event} must not change before when no seat is wanted"
    if held.accept_until != accept_until:
        return f"{event.event} must not change until when a seat is accepted in advance"
    if before.not_before and place.status.holds_seat and before.not_before > event.at:
        return f"it offers a seat that was not wanted before {before.not_before}"
    return ""


def _fault_of_persons_wish(
    event: Event, place: PastPlace, held: FoldedWish, before: FoldedWish
) -> str:
    name, within, what = _TIMED[event.event]
    until = getattr(held, name)
    keeps_pass = before.pass_next and not (until and name == "accept_until")
    if held != before._replace(**{name: until, "pass_next": keeps_pass}):
        return f"it {what}, and changes the place or a cool-down"
    if event.actor_kind != ActorKind.APPLICANT or not place.is_verified:
        return f"only the person, once verified, {what}"
    if until and not event.at < until <= event.at + within:
        return f"it {what} until {until}"
    return ""


class AcceptedWishesFold:
    """Promotions of people who had accepted a seat in advance, each with its confirmation."""

    def __init__(self) -> None:
        self._promoted: Event | None = None

    @property
    def is_unfinished(self) -> bool:
        """Tell whether the last row is a promotion that the next one must confirm."""
        return self._promoted is not None

    def row_fault(self, event: Event) -> str:
        """Name the fault of a row that is not the confirmation that the last promotion requires."""
        promoted, self._promoted = self._promoted, None
        confirms = event.event == EventType.ACKNOWLEDGED and ACCEPTED_UNTIL in event.data
        if promoted is None:
            return "it confirms a seat that nobody accepted in advance" if confirms else ""
        expected = (promoted.application_id, promoted.cause_seq or promoted.seq)
        said = promoted.data[ACCEPTED_UNTIL], promoted.at
        given = event.data.get(ACCEPTED_UNTIL), event.at
        if not confirms or given != said or (event.application_id, event.cause_seq) != expected:
            return "the seat before it was accepted in advance, and this does not confirm it"
        return ""

    def promotion_fault(self, event: Event, before: FoldedWish) -> str:
        """Name the fault of a promotion that contradicts the person's wish. Remembers it."""
        said = parse_logged_time(event.data.get(ACCEPTED_UNTIL))
        if event.event != EventType.PROMOTED:
            is_other = said and event.event != EventType.ACKNOWLEDGED
            return f"{event.event} accepts no seat" if is_other else ""
        until = before.accept_until
        if said != (until if until and until > event.at else None):
            return f"its seat was accepted in advance until {until}, and it says {said}"
        self._promoted = event if said else None
        return ""
