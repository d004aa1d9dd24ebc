"""The rules of waiting people's wishes, written as plainly as the model of the line."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from pipeline.services.turns import defer, preaccept
from tests.properties.passes import pass_a_turn
from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing

# The service of each wish, by the name of its time.
SERVICES = {"not_before": defer, "accept_until": preaccept}
names = st.sampled_from([*SERVICES])
# How many seconds ahead the time is; None takes a wish back.
moments = st.sampled_from([-5, 1, 31, 61, 3_601, 86_401, 604_801, 61 * 86_400, None, None])
EVENTS = {"not_before": "DEFERRED", "accept_until": "PREACCEPTED"}
REFUSALS = {"not_before": "NotDeferrable", "accept_until": "NotPreacceptable"}
MOST_DAYS = {"not_before": 60, "accept_until": 14}


def wish(model: Model, who: Standing, name: str, until: datetime | None) -> None:
    """Keep the place. Whoever defers has no seat before then; without a time, a free one at once.

    Whoever accepts in advance has the next seat before then without an offer.
    """
    if who.status != "WAITLIST" or who.verify_by or model.status == "CLOSED":
        raise Refused("IllegalMove")
    if until == getattr(who, name):
        return
    if until and not timedelta() < until - model.now <= timedelta(days=MOST_DAYS[name]):
        raise Refused(REFUSALS[name])
    setattr(who, name, until)
    if until and name == "accept_until":
        who.pass_next = False
    seq = model.write(EVENTS[name], who, before="WAITLIST", after="WAITLIST")
    model.fill(seq if name == "not_before" else None)


def promote(model: Model, who: Standing, because: int | None) -> None:
    """Offer a seat, or hand it over at once to someone who said yes in advance.

    Who asked to pass this turn passes it.
    """
    if who.pass_next:
        pass_a_turn(model, who, because)
        return
    accepts = who.accept_until is not None and who.accept_until > model.now
    seq = model.step(who, "PROMOTED", "PENDING_ACKNOWLEDGMENT", cause=because)
    if accepts:
        who.acknowledged_at = model.now
        model.step(who, "ACKNOWLEDGED", "ACTIVE", cause=because or seq)
