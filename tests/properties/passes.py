"""The rules of passing a turn, written as plainly as the model of the line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing


def ask_to_pass(model: Model, who: Standing, *, wanted: bool) -> None:
    """Keep the place. The next turn is passed, and a yes in advance does not hold any more."""
    if who.status != "WAITLIST" or who.verify_by or model.status == "CLOSED":
        raise Refused("IllegalMove")
    if who.pass_next == wanted:
        return
    if wanted and who.passes >= model.policy["max_passes"]:
        raise Refused("NotPassable")
    who.pass_next = wanted
    who.accept_until = None if wanted else who.accept_until
    model.write("PASS_ASKED", who, before="WAITLIST", after="WAITLIST")


def pass_an_offer(model: Model, who: Standing) -> None:
    """Return to the place before the offer, without a miss. The seat goes to the next in line."""
    if who.status == "WAITLIST" and who.passed_at:
        return
    if who.last_event in ("DECAYED", "LAPSED"):
        raise Refused("AcknowledgmentExpired")
    if who.status != "PENDING_ACKNOWLEDGMENT" or model.status == "CLOSED":
        raise Refused("IllegalMove")
    if who.passes >= model.policy["max_passes"]:
        raise Refused("NotPassable")
    pass_a_turn(model, who)
    model.fill()


def pass_a_turn(model: Model, who: Standing, because: int | None = None) -> None:
    """Count the pass, and offer nothing before the end of a cool-down."""
    before, held = who.status, model.free()
    who.passes, who.pass_next, who.last_event = who.passes + 1, False, "PASSED"
    who.passed_at = who.since = model.now
    who.eligible_at = model.now + timedelta(seconds=model.policy["cooldown_seconds"])
    who.deadline, who.extended, who.status = None, False, "WAITLIST"
    who.reserved = False
    who.extended_by = {}
    if before != "WAITLIST":
        who.ticket, who.tie = who.before_offer
        who.to_be_passed_by = max(0, who.ticket - model.next_ticket)
        model.queue = sorted([*model.queue, who], key=lambda p: (p.ticket, p.tie))
    seq = model.write("PASSED", who, before=before, after="WAITLIST", cause=because)
    if before == "WAITLIST" or model.free() > held:
        model.opened.insert(0, seq)


def pass_that_opened(model: Model) -> int | None:
    """Return the pass in line whose seat nobody has taken yet, if there is one."""
    seq = model.opened[0] if model.opened else None
    event, _, _, before, *_ = model.log[seq - 1] if seq else (None,) * 4
    return seq if event == "PASSED" and before == "WAITLIST" else None
