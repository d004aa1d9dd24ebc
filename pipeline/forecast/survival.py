"""Survival curves by Kaplan and Meier: how long people wait, including those still waiting.

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple


class Wait(NamedTuple):
    """A wait of some seconds. It ended with an offer, or was still running when last seen."""

    seconds: int
    is_over: bool


def survival_quantiles(waits: Collection[Wait], shares: Collection[float]) -> list[int | None]:
    """Return the seconds within which each share of people is offered a seat.

    A wait that was cut off (the person left, or is still waiting) counts for as long as it was
    seen, so it makes the others' shares larger, never smaller. Without it, the average would cover
    only those who got a seat. A share that the curve does not reach is None.
    """
    offered = Counter(wait.seconds for wait in waits if wait.is_over)
    ended = Counter(wait.seconds for wait in waits)
    at_risk, surviving = len(waits), 1.0
    curve: list[tuple[int, float]] = []
    for seconds in sorted(ended):
        if offered[seconds]:
            surviving *= 1 - offered[seconds] / at_risk
            curve.append((seconds, 1 - surviving))
        at_risk -= ended[seconds]
    reached = (
        next((seconds for seconds, share in curve if share >= wanted - 1e-9), None)
        for wanted in shares
    )
    return list(reached)
