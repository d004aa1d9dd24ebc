"""The rules of planned seats, written once more and as plainly as the model of the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from tests.properties.model import Model


class Refused(Exception):
    """The name of the refusal."""


@dataclass(order=True)
class Planned:
    """Seats that open, or close, `left` times more, weekly."""

    at: datetime
    id: UUID
    seats: int
    left: int

    def skip(self) -> None:
        self.at, self.left = self.at + timedelta(weeks=1), self.left - 1


def change_planned(model: Model) -> None:
    """Carry out everything that is due, in the order of the times."""
    while (plan := min(model.plans, default=None)) and plan.at <= model.now:
        free, before, at = model.free(), model.capacity, plan.at
        model.capacity = min(max(1, before + plan.seats), 10_000)
        if model.capacity < min(before, model.reserve):
            model.capacity = before
            model.write("SEATS_KEPT", effective=at)
        elif model.capacity != before:
            seq = model.write("CAPACITY_CHANGED", effective=at)
            model.opened += [seq] * (model.free() - free)
            del model.opened[max(0, model.free()) :]
        plan.skip()
        model.plans = [each for each in model.plans if each.left]


def plan(model: Model, new: Planned) -> None:
    if model.status == "CLOSED":
        raise Refused("IllegalJobMove")
    if len(model.plans) >= 20:
        raise Refused("TooManyPlannedSeats")
    steps = list(foresee(model.capacity, [*model.plans, new]))
    if not all(1 <= seats <= 10_000 for _, _, seats in steps):
        raise Refused("PlanRefused")
    check_reserve(steps, model.reserve, model.reserved_until)
    model.plans.append(new)


def foresee(seats: int, plans: list[Planned]) -> Iterator[tuple[datetime, int, int]]:
    """Yield every coming change: when, by how many seats, and how many there are then."""
    coming = [copy(each) for each in plans]
    while coming:
        first = min(coming)
        seats += first.seats
        yield first.at, first.seats, seats
        first.skip()
        coming = [each for each in coming if each.left]


def check_reserve(
    steps: Iterable[tuple[datetime, int, int]], reserve: int, until: datetime | None
) -> None:
    """Refuse what would close reserved seats before the reserve ends."""
    for at, change, seats in steps:
        if change < 0 and seats < reserve and (until is None or at < until):
            raise Refused("ReserveRefused")


def cancel(model: Model, old: Planned) -> None:
    if old not in model.plans:
        raise Refused("PlannedSeatsNotFound")
    model.plans.remove(old)
