"""Fixtures for the tests of webhooks."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from tests.support import factories


@pytest.fixture
def job(company: Company) -> UUID:
    """Return an open job of the company, with a seat."""
    return factories.job(company_id=company.id)
