"""The rules of reserved seats, written as plainly as the model of the line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tests.properties.planned import Refused, check_reserve, foresee

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing


def reserved_free(model: Model) -> int:
    """Count the free seats that only the group can take."""
    taken = sum(who.reserved for who in model.people)
    return min(model.free(), max(0, model.reserve - taken))


def open_free(model: Model) -> int:
    """Count the free seats that anyone can take."""
    if not model.reserve:
        return model.free()
    others = model.held() - sum(who.reserved for who in model.people)
    return min(model.free(), max(0, model.capacity - model.reserve - others))


def can_take(model: Model, who: Standing) -> bool:
    return bool(open_free(model) or (who.member and reserved_free(model)))


def take_or_leave(who: Standing, before: str | None, to: str, is_free: bool) -> None:
    """Note whether a person who takes a seat takes a reserved one, or leaves it."""
    seated = ("ACTIVE", "PENDING_ACKNOWLEDGMENT")
    if (before in seated) != (to in seated):
        who.reserved = to in seated and who.member and is_free


def reserve(model: Model, seats: int, until: datetime | None) -> None:
    """Reserve so many seats, until then or for good. Nobody loses a seat."""
    if model.status == "CLOSED":
        raise Refused("IllegalJobMove")
    if seats > model.capacity or (until and until != model.reserved_until and until <= model.now):
        raise Refused("ReserveRefused")
    check_reserve(foresee(model.capacity, model.plans), seats, until)
    wanted = (seats, until if seats else None)
    if wanted != (model.reserve, model.reserved_until):
        model.reserve, model.reserved_until = wanted
        model.fill(model.write("RESERVE_CHANGED"))


def check_capacity(model: Model, capacity: int) -> None:
    """Refuse fewer seats than are reserved, now or with the plans to come."""
    if capacity < model.capacity:
        if capacity < model.reserve:
            raise Refused("ReserveRefused")
        steps = foresee(capacity, model.plans)
        check_reserve(steps, model.reserve, model.reserved_until)


def end_if_due(model: Model) -> None:
    """Let anyone take the reserved seats that are free, at the announced time."""
    until = model.reserved_until
    if until is None or until > model.now:
        return
    before = open_free(model)
    model.reserve, model.reserved_until = 0, None
    seq = model.write("RESERVE_CHANGED", effective=until)
    model.opened += [seq] * (open_free(model) - before)


def decide(model: Model, who: Standing, *, confirms: bool) -> None:
    """Note whether a person who waits belongs to the group. One who does may get a seat at once."""
    if who.status != "WAITLIST" or model.status == "CLOSED":
        raise Refused("IllegalMove")
    if not model.reserve:
        raise Refused("ReserveRefused")
    if who.claim == confirms:
        return
    who.claim = who.member = confirms
    model.fill(model.write("GROUP_NOTED", who, before="WAITLIST", after="WAITLIST"))
