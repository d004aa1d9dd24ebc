"""Waits of the people who stood at a position of a line in the past, from its log. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from pipeline.forecast.survival import Wait, survival_quantiles

# The number of past moments at which it looks at who stood at a position.
MOMENTS = 400
# A forecast needs at least this many different people who stood there and were then offered a
# seat.
FEWEST_OFFERS = 20
# The positions for which a forecast is made. One in between is interpolated.
POSITIONS = (*range(1, 21), *range(25, 100, 5), *range(100, 501, 25))
SHARES = (0.5, 0.8)


class Turn(NamedTuple):
    """Event of one application, as far as its wait is concerned. `at` is in seconds."""

    at: float
    application_id: UUID
    # The place in the order while they wait and are verified; None otherwise.
    place: tuple[int, int] | None
    is_offer: bool
    # They asked for a later turn: from here on, they wait by choice.
    is_deferral: bool = False


class Forecast(NamedTuple):
    """Seconds within which half, and four fifths, of the people at a position are offered a seat.

    `offers` is the evidence: how many different people at that position were.
    """

    half: int
    most: int
    offers: int


@dataclass(slots=True)
class _Waitlist:
    order: list[tuple[tuple[int, int], UUID]] = field(default_factory=list)
    places: dict[UUID, tuple[int, int]] = field(default_factory=dict)

    def move_person(self, turn: Turn) -> None:
        old = self.places.pop(turn.application_id, None)
        if old is not None:
            del self.order[bisect_left(self.order, (old, turn.application_id))]
        if turn.place is not None:
            self.places[turn.application_id] = turn.place
            insort(self.order, (turn.place, turn.application_id))


def forecast_waits_of_line(
    turns: Sequence[Turn], *, start: float, now: float, positions: Iterable[int] = POSITIONS
) -> dict[int, Forecast]:
    """Return the forecast for each position for which there is enough evidence.

    At evenly spread moments since `start`, it looks at who stood at the position, and how long
    they then waited for an offer. Of people who left, deferred or are still waiting, only part of
    the wait was seen.
    """
    # When each application stopped waiting, in order, and whether it was for an offer.
    ends: dict[UUID, list[tuple[float, bool]]] = {}
    for turn in turns:
        if turn.place is None or turn.is_deferral:
            ends.setdefault(turn.application_id, []).append((turn.at, turn.is_offer))
    found = {}
    for position, moments in _waiting_people_at_moments(turns, start, now, list(positions)).items():
        waits, offered = [], set()
        for at, application_id in moments:
            later = (each for each in ends.get(application_id, ()) if each[0] > at)
            end, is_offer = next(later, (now, False))
            waits.append(Wait(round(end - at), is_offer))
            if is_offer:
                offered.add(application_id)
        half, most = survival_quantiles(waits, SHARES)
        if half is not None and most is not None and len(offered) >= FEWEST_OFFERS:
            found[position] = Forecast(half, most, len(offered))
    return found


def forecast_wait_at_position(known: Mapping[int, Forecast], position: int) -> Forecast | None:
    """Return the forecast for a position, interpolated between the nearest two of POSITIONS."""
    if position in known:
        return known[position]
    below = max((each for each in POSITIONS if each < position), default=None)
    above = min((each for each in POSITIONS if each > position), default=None)
    if below is None or above is None or below not in known or above not in known:
        return None
    part = (position - below) / (above - below)
    low, high = known[below], known[above]
    return Forecast(
        round(low.half + part * (high.half - low.half)),
        round(low.most + part * (high.most - low.most)),
        min(low.offers, high.offers),
    )


def _waiting_people_at_moments(
    turns: Sequence[Turn], start: float, now: float, positions: list[int]
) -> dict[int, list[tuple[float, UUID]]]:
    seen: dict[int, list[tuple[float, UUID]]] = {position: [] for position in positions}
    line, taken = _Waitlist(), 0
    for number in range(MOMENTS):
        moment = start + (now - start) * (number + 0.5) / MOMENTS
        while taken < len(turns) and turns[taken].at <= moment:
            line.move_person(turns[taken])
            taken += 1
        for position in positions:
            if position <= len(line.order):
                seen[position].append((moment, line.order[position - 1][1]))
    return seen
