"""Checks of a seat that was accepted in advance: the row after it confirms just that seat."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit.rules import AcceptedWishesFold
from pipeline.domain.place import PlaceState
from pipeline.line.event_log import logged_time
from pipeline.models import Event

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNTIL, SECOND = NOW + timedelta(days=1), timedelta(seconds=1)
ONE, ANA, THREE = (UUID(int=number) for number in (1, 2, 3))


def wish(until: datetime | None) -> PlaceState:
    """Return the place of someone who accepts a seat in advance until a time, or not."""
    return PlaceState(accept_until=until)


def promotion(until: datetime | None = UNTIL, **changes: Any) -> Event:
    """Return the promotion of a person into a seat that they have accepted until a time."""
    data = {"accepted_until": logged_time(until)} if until else {}
    values = {"event": "PROMOTED", "seq": 5, "at": NOW, "application_id": ANA, "cause_seq": 3}
    return Event(**values | {"data": data} | changes)


def confirmation(**changes: Any) -> Event:
    """Return the row that confirms this seat, but for the changes."""
    return promotion(**{"event": "ACKNOWLEDGED", "seq": 6} | changes)


def said_of(row: Event, **of_promotion: Any) -> str:
    """Return what the fold says of a row after the promotion."""
    fold = AcceptedWishesFold()
    assert fold.promotion_fault(promotion(**of_promotion), wish(UNTIL)) == ""
    assert fold.is_unfinished
    return fold.row_fault(row)


def test_the_confirmation_has_the_cause_of_the_promotion_or_else_names_it() -> None:
    assert said_of(confirmation()) == ""
    assert said_of(confirmation(cause_seq=5), cause_seq=None) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"application_id": ONE},
        {"application_id": THREE},
        {"cause_seq": 2},
        {"cause_seq": 4},
        {"at": NOW - SECOND},
        {"at": NOW + SECOND},
        {"until": UNTIL - SECOND},
        {"until": UNTIL + SECOND},
        {"until": None},
        {"event": "WITHDRAWN"},
    ],
)
def test_anything_else_after_the_promotion_is_named(changes: dict[str, Any]) -> None:
    said = said_of(confirmation(**changes))

    assert said == "the seat before it was accepted in advance, and this does not confirm it"


def test_nobody_confirms_a_seat_that_was_not_accepted_in_advance() -> None:
    fold = AcceptedWishesFold()
    plain = Event(event="ACKNOWLEDGED", data={})

    assert fold.row_fault(plain) == ""
    assert fold.row_fault(confirmation()) == "it confirms a seat that nobody accepted in advance"


@pytest.mark.parametrize(
    ("accepted", "said"),
    [(UNTIL, None), (UNTIL, UNTIL + SECOND), (UNTIL, UNTIL - SECOND), (None, UNTIL), (NOW, NOW)],
)
def test_a_promotion_says_just_until_when_the_seat_was_accepted(
    accepted: datetime | None, said: datetime | None
) -> None:
    fold = AcceptedWishesFold()

    assert "it says" in fold.promotion_fault(promotion(said), wish(accepted))
    assert not fold.is_unfinished


@pytest.mark.parametrize("accepted", [None, NOW, NOW - SECOND])
def test_after_that_time_a_promotion_is_one_like_any_other(accepted: datetime | None) -> None:
    fold = AcceptedWishesFold()

    assert fold.promotion_fault(promotion(None), wish(accepted)) == ""
    assert not fold.is_unfinished


@pytest.mark.parametrize("event", ["APPLIED", "DECAYED", "WITHDRAWN"])
def test_no_other_event_accepts_a_seat(event: str) -> None:
    fold = AcceptedWishesFold()

    assert fold.promotion_fault(promotion(event=event), wish(UNTIL)) == f"{event} accepts no seat"
    assert fold.promotion_fault(promotion(None, event=event), wish(UNTIL)) == ""
    assert fold.promotion_fault(confirmation(), wish(UNTIL)) == ""
