"""Decisions that wait ten seconds, as in production."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from tests.support import factories

WAIT_SECONDS = 10


@pytest.fixture
def undo_seconds(settings: Any) -> int:
    """Let decisions wait, and say for how long."""
    settings.DECISION_UNDO_SECONDS = WAIT_SECONDS
    return WAIT_SECONDS


@pytest.fixture
def job(company: Company) -> UUID:
    """Return an open job with both seats taken and three people waiting."""
    job = factories.job(company_id=company.id, capacity=2)
    for name in ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"):
        factories.application(job, factories.applicant(name=name))
    return job
