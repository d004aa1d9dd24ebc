"""The rules of asking to look again and of places given back, as plain as the model of the line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing

ENDED = {"before": "INACTIVE", "after": "INACTIVE"}


def ask(model: Model, who: Standing) -> None:
    """Contest the last end, once and within thirty days. Nothing else changes."""
    if who.outcome not in ("LAPSED", "REMOVED", "REJECTED") or who.verify_by:
        raise Refused("NotContestable")
    if who.contested == who.end:
        raise Refused("AlreadyContested")
    assert who.ended_at is not None
    if model.now >= who.ended_at + timedelta(days=30):
        raise Refused("ContestTooLate")
    who.contested, who.asks = who.end, True
    model.write("CONTESTED", who, **ENDED)


def answer(model: Model, who: Standing, *, changed: bool) -> None:
    """Answer: nothing changes, or the place before the end comes back in the same change."""
    if not who.asks:
        raise Refused("ContestAnswered")
    if changed:
        look_again(model, who)
    else:
        who.asks = False
        model.write("CONTEST_ANSWERED", who, **ENDED)


def look_again(model: Model, who: Standing) -> None:
    """Give the place before the end back, if it is still there."""
    others = [p for p in model.people if p.person == who.person and p is not who]
    assert who.ended_at is not None
    drawn_since = model.drawn_at is not None and who.ended_at < model.drawn_at
    is_gone = model.status == "CLOSED" or drawn_since
    if not is_gone and any(p.status != "INACTIVE" for p in others):
        raise Refused("AlreadyApplied")
    later = any(p.applied_at > who.applied_at and not p.verify_by for p in others)
    if is_gone or later:
        raise Refused("NotReinstatable")
    give_back(model, who)


def give_back(model: Model, who: Standing) -> None:
    """Put someone back to the place before a miss, or before a removal. An open question ends."""
    if who.asks:
        who.asks = False
        model.write("CONTEST_ANSWERED", who, **ENDED)
    removed, before = who.outcome in ("REMOVED", "REJECTED"), who.status
    cause, place = (who.end, who.end_place) if removed else (who.miss, who.miss_place)
    rest = [p for p in model.queue if p is not who]
    if not removed:
        who.misses, who.eligible_at = who.misses - 1, who.eligible_at if who.passed_at else None
    who.outcome = who.ended_at = None
    who.status, who.since, who.given_back = "WAITLIST", model.now, True
    # Whoever was in a cool-down when the company removed them has just missed, as before.
    who.last_event = "REINSTATED"
    if who.eligible_at and who.promoted_at and not who.passed_at:
        who.last_event = "DECAYED"
    who.ticket, who.tie = place
    who.to_be_passed_by = max(0, who.ticket - model.next_ticket)
    model.queue = sorted([*rest, who], key=lambda p: (p.ticket, p.tie))
    model.fill(model.write("REINSTATED", who, before=before, after="WAITLIST", cause=cause))
