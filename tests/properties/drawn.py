"""The rules of a draw by lot, as plain as the model of the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.properties.model import Model


def draw_if_due(model: Model) -> int | None:
    """Give everyone in line a new place by lot, once, at the announced time."""
    if not model.awaits_draw or model.draw_at is None or model.draw_at > model.now:
        return None
    model.drawn_at, model.to_place = model.now, len(model.queue)
    seq = model.write("DRAWN", effective=model.draw_at)
    assert model.lot is not None
    lots = {who.id: model.lot(seq, who.id) for who in model.queue}
    for who in sorted(model.queue, key=lambda each: lots[each.id]):
        model.queue.remove(who)
        model.queue.append(who)
        who.ticket, who.tie, who.to_be_passed_by = model.next_ticket, len(model.log) + 1, 0
        who.last_event = "PLACED"
        model.next_ticket, model.to_place = model.next_ticket + 1, model.to_place - 1
        why = {"cause": seq, "effective": model.draw_at}
        model.write("PLACED", who, before="WAITLIST", after="WAITLIST", **why)
    model.opened = []  # the draw opens the seats
    return seq
