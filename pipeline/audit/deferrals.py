"""Check of deferrals in a log: who asks for no seat before a time keeps the place, and gets none.

As the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pipeline.domain.states import DEFER_WITHIN, ActorKind, EventType, Status
from pipeline.models import Event
from pipeline.selectors.past_states import PastPlace


class HeldDeferral(NamedTuple):
    """Place of an application, and what keeps it from a seat."""

    ticket: int | None
    tie: int | None
    misses: int
    eligible_at: datetime | None
    not_before: datetime | None

    @classmethod
    def of(cls, place: PastPlace) -> HeldDeferral:
        """Return that of a place as it is now."""
        own = (place.ticket, place.tie, place.decay_count, place.eligible_at, place.not_before)
        return cls(*own)


def wrong_deferral(event: Event, place: PastPlace, before: HeldDeferral) -> str:
    """Say what is wrong about a deferral, or an event that one forbids; nothing if all is well.

    A draw by lot changes nothing but the place.

    `place` is the one after the event.
    """
    held, until = HeldDeferral.of(place), place.not_before
    if event.event == EventType.DEFERRED:
        if held != before._replace(not_before=until):
            return "it defers a turn, and changes the place or a cool-down"
        if event.actor_kind != ActorKind.APPLICANT or not place.is_verified:
            return "only the person, once verified, defers a turn"
        if until and not event.at < until <= event.at + DEFER_WITHIN:
            return f"it defers a turn to {until}"
        return ""
    if event.event == EventType.PLACED:
        placed = before._replace(ticket=place.ticket, tie=place.tie)
        return "" if held == placed else "it places somebody by lot, and changes more than that"
    if until != (before.not_before if place.status is Status.WAITLIST else None):
        return f"{event.event} must not change before when no seat is wanted"
    if before.not_before and place.status.holds_seat and before.not_before > event.at:
        return f"it offers a seat that was not wanted before {before.not_before}"
    return ""
