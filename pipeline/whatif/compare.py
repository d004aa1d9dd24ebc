"""Comparison of what happened in a line with what would have happened under other rules.

Its one assumption is `ASSUMPTION`. The order never reads this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from pipeline.domain.states import EventType, Status
from pipeline.stats.idle_seats import MissedOffer, fold_idle_seats
from pipeline.whatif.behaviour import LoggedEvent
from pipeline.whatif.simulate import Simulation
from pipeline.whatif.state import Change, SimulatedEvent

ASSUMPTION = (
    "People answer or pass as long after an offer as they did, those who missed one would have"
    " missed it with more time too, reviews last as long as they did, and the same people apply."
)
# Windows of the sweep, in seconds.
WINDOWS = (3_600, 14_400, 43_200, 86_400, 172_800, 259_200, 604_800)
# Smaller differences are not counted: offers of the log end when a worker comes, a little late.
NOTABLE = timedelta(minutes=1)


class NotReproducible(Exception):
    """The rules do not lead to this log, so other rules cannot be tried on it."""

    def __str__(self) -> str:
        return (
            "This log holds something that cannot be run again, such as an undone import, so other"
            " rules cannot be tried on it."
        )


class Cancelled(Exception):
    """The comparison was cancelled."""


def compare_rules(
    log: Sequence[LoggedEvent],
    change: Change,
    end: datetime,
    *,
    tell: Callable[[int, int], None],
    is_cancelled: Callable[[], bool],
) -> dict[str, Any]:
    """Return the actual outcome, the outcome under changed rules, and one run for each window.

    The runs are simulated. All values are JSON values: times in seconds, None without data.
    Raises NotReproducible, TooLong, Cancelled.
    """
    happened = Simulation(log)
    happened.run(end)
    told = [
        (row.seq, row.at, row.application_id, row.to_status, row.ticket, row.tie)
        for row in happened.events
    ]
    if told != [_row_to_compare(row) for row in log if row.at <= end]:
        raise NotReproducible
    steps = len(WINDOWS) + 2
    tell(1, steps)

    def compare_again(policy: dict[str, Any], done: int) -> Simulation:
        if is_cancelled():
            raise Cancelled
        tried = Simulation(log, Change(change.since, policy, change.capacity))
        tried.run(end)
        tell(done, steps)
        return tried

    tried = compare_again(change.policy, 2)
    windows = []
    for number, seconds in enumerate(WINDOWS, 3):
        each = compare_again(change.policy | {"acknowledgment_window_seconds": seconds}, number)
        windows.append({"window_seconds": seconds, **_figures_to_compare(each, change.since, end)})
    earlier, later = _compare_first_seats(happened.events, tried.events, change.since, end)
    return {
        "start": change.since.isoformat(),
        "end": end.isoformat(),
        "happened": _figures_to_compare(happened, change.since, end),
        "what_if": _figures_to_compare(tried, change.since, end),
        "earlier": earlier,
        "later": later,
        "windows": windows,
    }


def _row_to_compare(row: LoggedEvent) -> tuple[Any, ...]:
    if row.application_id is None:
        return row.seq, row.at, None, None, None, None
    place = row.data.get("ticket"), row.data.get("tie")
    return row.seq, row.at, row.application_id, row.to_status, *place


def _figures_to_compare(run: Simulation, start: datetime, end: datetime) -> dict[str, Any]:
    offered_at: dict[UUID, datetime] = {}
    misses = []
    for event in run.events:
        if event.application_id is None:
            continue
        if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
            if event.event != EventType.DEADLINE_EXTENDED:
                offered_at[event.application_id] = event.at
        elif event.event in (EventType.DECAYED, EventType.LAPSED):
            if since := offered_at.pop(event.application_id, None):
                misses.append(MissedOffer(since, event.at))
        elif event.event == EventType.ACKNOWLEDGED:
            offered_at.pop(event.application_id, None)
    (ledger,) = fold_idle_seats(run.states, misses, [start, end])
    applied = {e.application_id: e.at for e in run.events if e.event == EventType.APPLIED}
    first = {who: at for who, at in _first_seats_to_compare(run.events).items() if start <= at}
    waits = [(at - applied[who]).total_seconds() for who, at in first.items()]
    return {
        "seat_seconds": ledger.seconds(),
        "median_wait_seconds": median(waits) if waits else None,
        "offered": len(first),
        "misses": sum(start <= miss.missed_at for miss in misses),
    }


def _first_seats_to_compare(events: Sequence[SimulatedEvent]) -> dict[UUID, datetime]:
    found: dict[UUID, datetime] = {}
    for event in events:
        if event.application_id and event.to_status and Status(event.to_status).holds_seat:
            found.setdefault(event.application_id, event.at)
    return found


def _compare_first_seats(
    happened: Sequence[SimulatedEvent],
    tried: Sequence[SimulatedEvent],
    start: datetime,
    end: datetime,
) -> tuple[int, int]:
    """Count the people who would have got a first seat earlier, and later or not at all."""
    never = end + 2 * NOTABLE
    was, would = _first_seats_to_compare(happened), _first_seats_to_compare(tried)
    changes = [
        would.get(who, never) - was.get(who, never)
        for who in was.keys() | would.keys()
        if max(was.get(who, never), would.get(who, never)) >= start
    ]
    return sum(each <= -NOTABLE for each in changes), sum(each >= NOTABLE for each in changes)
