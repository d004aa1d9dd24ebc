"""Jobs whose first order is drawn by lot, in tests."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from jobs.policies import Policy
from pipeline.domain import draw as rule
from pipeline.line import settle as drawing
from pipeline.models import Application, Event
from pipeline.services.jobs import Posting, create_job, pause_job
from tests.support import factories
from tests.support.clock import database_now, let_time_pass


def lottery(
    *,
    capacity: int = 1,
    seconds: float = 600,
    company_id: UUID | None = None,
    open_now: bool = True,
    **policy: Any,
) -> UUID:
    """A job whose order is drawn this many seconds from now."""
    return create_job(
        company_id=company_id or factories.company().id,
        posting=Posting("Engineer"),
        capacity=capacity,
        policy=Policy(**{"acknowledgment_window_seconds": factories.WINDOW} | policy),
        actor=factories.RECRUITER,
        open_now=open_now,
        draw_at=database_now() + timedelta(seconds=seconds),
    )


def draw(job_id: UUID) -> Event:
    """Let the time until the draw pass, settle, and return the draw's event."""
    let_time_pass(job_id, 601)
    factories.settle_all()
    return Event.objects.get(job_id=job_id, event="DRAWN")


def draw_with_a_late_comer(job_id: UUID, patch: pytest.MonkeyPatch) -> Event:
    """Admit a person after the time of the draw, which no real service does, and then draw."""
    with patch.context() as cheat:
        cheat.setattr("pipeline.line.settle.draw_if_due", lambda job: job.note_due(job.draw_at))
        let_time_pass(job_id, 601)
        factories.application(job_id)
    return draw(job_id)


def draw_in_part(job_id: UUID, patch: pytest.MonkeyPatch) -> int:
    """Place only the first two of a draw, with nothing after it; return the last event's seq."""
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    with patch.context() as cheat:
        cheat.setattr(drawing, "drawn_order", lambda *given: rule.drawn_order(*given)[:2])
        return draw(job_id).seq + 2


def order_by_hand(job_id: UUID, seed: str, people: list[Application]) -> list[UUID]:
    """Return the drawn order, by the published rule and without the product's code."""

    def lot_in_draw(application: Application) -> str:
        opaque = sha256(f"{job_id}:{application.id}".encode()).hexdigest()[:32]
        return sha256(bytes.fromhex(seed) + opaque.encode()).hexdigest()

    return [each.id for each in sorted(people, key=lot_in_draw)]
