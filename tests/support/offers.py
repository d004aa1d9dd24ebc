"""Jobs with an offered seat, and offers that run out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipeline.models import Application
from tests.support import factories
from tests.support.clock import let_time_pass


def job_with_a_seat_on_offer(**policy: Any) -> tuple[UUID, Application]:
    """Make a job with one seat, offered to a person who has not acknowledged it."""
    job_id = factories.job(acknowledge_first_seat=True, **policy)
    return job_id, factories.application(job_id)


def let_the_offer_run_out(job_id: UUID) -> None:
    """Let the window pass, and settle."""
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()


def overdue_job(seconds: int = 0, **policy: Any) -> UUID:
    """Make a job whose only offer ran out that many seconds ago and is not settled."""
    job_id, _ = job_with_a_seat_on_offer(**policy)
    let_time_pass(job_id, factories.WINDOW + seconds)
    return job_id
