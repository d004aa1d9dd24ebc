"""The rules of asking for no seat yet, written as plainly as the model of the line."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model, Standing


def put_off(model: Model, who: Standing, until: datetime | None) -> None:
    """Keep the place, and offer no seat before then; without a time, offer a free one at once."""
    if who.status != "WAITLIST" or who.verify_by or model.status == "CLOSED":
        raise Refused("IllegalMove")
    if until == who.not_before:
        return
    if until and not timedelta() < until - model.now <= timedelta(days=60):
        raise Refused("NotDeferrable")
    who.not_before = until
    model.fill(model.write("DEFERRED", who, before="WAITLIST", after="WAITLIST"))
