"""The job with a history in two weeks."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from tests.support.weeks import two_weeks


@pytest.fixture
def job(company: Company) -> UUID:
    """The job with a history in the last two weeks."""
    return two_weeks(company)
