"""Fold of lost places: which place was someone's before a seat, a miss or a removal.

Only that place is given back, and only that place is kept by a pass. Like the rest of the fold, it
shares no rule with the code that writes the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.audit.wishes_fold import WISHES
from pipeline.domain.contests import CONTESTABLE, OF_CONTESTS
from pipeline.domain.states import EventType, Status
from pipeline.models import Event
from pipeline.selectors.past_states import PastPlace

Place = tuple[int | None, int | None]


class _Lost(NamedTuple):
    """Miss or removal that can be reversed: its seq, and the state that this restores."""

    seq: int
    misses: int
    place: Place
    eligible_at: datetime | None


class LostPlacesFold:
    """Places lost in a log so far. `check` returns the fault of the next row, or nothing."""

    def __init__(self) -> None:
        # The place before each seat, and each miss or removal that is the last event; after a
        # pass, the miss before its offer can still be reversed.
        self._offered: dict[UUID, Place] = {}
        self._lost: dict[UUID, _Lost] = {}
        self._lost_before_offer: dict[UUID, _Lost] = {}

    def check(
        self, event: Event, place: PastPlace, stood: Place, misses: int, policy: Mapping[str, Any]
    ) -> str:
        """Check that a place is given back once, or kept by a pass, as it was before.

        `place` is the one after the event; `stood` and `misses` are those before it.
        """
        who, stands = place.application_id, (place.ticket, place.tie)
        if event.event == EventType.REINSTATED:
            given = (event.cause_seq, place.decay_count, stands, place.eligible_at)
            if given != self._lost.get(who):
                return "it does not give back the place before the last miss"
        if event.event in ("DEADLINE_EXTENDED", *WISHES, *OF_CONTESTS):
            return ""
        if event.event == EventType.PASSED:
            return self.check_pass(event, place)
        before, lost = self._offered.pop(who, None), self._lost.pop(who, None)
        if place.status.holds_seat:
            if event.from_status is None:  # the place at which they would have joined
                behind = policy["penalty_places"] * place.decay_count
                stood = (event.data["next_ticket"] + behind, event.seq)
            self._offered[who] = before or stood
            if lost:
                self._lost_before_offer[who] = lost
        else:
            self._lost_before_offer.pop(who, None)
            self.note_loss(event, place, before, stood, misses)
        return ""

    def note_loss(
        self, event: Event, place: PastPlace, before: Place | None, stood: Place, misses: int
    ) -> None:
        """Remember the place that is lost through a miss or a removal."""
        who = place.application_id
        if before and event.event in (EventType.DECAYED, EventType.LAPSED):
            self._lost[who] = _Lost(event.seq, misses, before, None)
        elif event.event == EventType.REMOVED and event.outcome in CONTESTABLE:
            self._lost[who] = _Lost(event.seq, misses, before or stood, place.eligible_at)

    def check_pass(self, event: Event, place: PastPlace) -> str:
        """Check that a pass keeps the place. Its cool-down continues if a miss is reversed."""
        who = place.application_id
        if event.from_status == Status.PENDING_ACKNOWLEDGMENT:
            if (place.ticket, place.tie) != self._offered.pop(who, None):
                return "it passes an offer, and does not keep the place before it"
            if lost := self._lost_before_offer.pop(who, None):
                self._lost[who] = lost
        if lost := self._lost.get(who):
            self._lost[who] = lost._replace(eligible_at=place.eligible_at)
        return ""
