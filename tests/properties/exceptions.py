"""The rules of an exception to the order, as plain as the model of the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing


def move_ahead(model: Model, who: Standing) -> None:
    """Put one person before everyone else who waits. Nothing else changes."""
    if who.status != "WAITLIST" or who.verify_by or model.status == "CLOSED":
        raise Refused("IllegalMove")
    ahead = model.queue[: model.queue.index(who)]
    passed = [each for each in ahead if each.verify_by is None]
    if model.awaits_draw or not passed:
        raise Refused("NotMovable")
    for each in passed:
        each.passed_by_exception += 1
    model.queue.remove(who)
    first = min(model.next_ticket, *(each.ticket for each in ahead if each.ticket is not None))
    who.ticket, who.tie, who.to_be_passed_by = first - 1, len(model.log) + 1, 0
    model.queue.insert(0, who)
    model.exceptions += 1
    model.write("MOVED_AHEAD", who, before="WAITLIST", after="WAITLIST")
