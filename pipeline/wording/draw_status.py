"""Reason why nobody is being promoted before the order of a line is drawn by lot. Pure."""

from __future__ import annotations

from datetime import datetime

from pipeline.wording.english import plural
from pipeline.wording.promotion_status import Cause, PromotionFacts, PromotionStatus


def status_before_draw(facts: PromotionFacts, draw_at: datetime) -> PromotionStatus:
    """Return the status of a job that takes applications and whose draw is still to come."""
    part = (
        f"{facts.waiting:,} {plural(facts.waiting, 'application takes', 'applications take')} part"
    )
    if draw_at <= facts.now:
        return PromotionStatus(
            Cause.DRAW,
            "The order is about to be drawn by lot.",
            f"{part}. The draw is due, and happens before anything else in this line.",
            "Then the people at the front are offered the seats.",
            "Due",
            draw_at,
            tone="plain" if facts.worker_alive else "bad",
        )
    return PromotionStatus(
        Cause.DRAW,
        "The order is still to be drawn by lot.",
        f"{part} so far. Nobody gets a seat before the draw.",
        "After the draw, the people at the front are offered the seats.",
        "The draw is",
        draw_at,
    )
