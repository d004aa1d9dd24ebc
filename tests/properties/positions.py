"""The rules of positions and of the closing date, written as plainly as the model of the line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tests.properties.planned import Refused

if TYPE_CHECKING:
    from tests.properties.model import Model
    from tests.properties.standing import Standing


def hire(model: Model, who: Standing, if_last: str) -> None:
    """Hire one more person, as far as there are positions, and say what follows the last one."""
    if who.status != "ACTIVE":
        raise Refused("IllegalMove")
    most = model.positions
    if most is not None and model.hired >= most - 1:
        if if_last == "GO_ON":
            model.positions = most + 1
            model.write("POSITIONS_CHANGED")
        elif model.hired == most:
            raise Refused("PositionsFilled")
        elif if_last == "ASK" and model.status != "CLOSED":
            raise Refused("LastPosition")
    model.hired += 1
    model.end(who, "REMOVED", "HIRED")
    if model.is_filled and if_last == "CLOSE" and model.status != "CLOSED":
        model.close()
    model.fill()


def change_positions(model: Model, positions: int | None) -> None:
    if positions is not None and positions < model.hired:
        raise Refused("PositionsBelowHired")
    if positions != model.positions:
        model.positions = positions
        model.fill(model.write("POSITIONS_CHANGED"))


def announce_closing(model: Model, closes_at: datetime | None) -> None:
    if closes_at == model.closes_at:
        return
    if model.status == "CLOSED":
        raise Refused("IllegalJobMove")
    if closes_at and model.awaits_draw and model.draw_at and closes_at <= model.draw_at:
        raise Refused("DatesRefused")
    model.closes_at = closes_at
    model.write("DATES_CHANGED")
