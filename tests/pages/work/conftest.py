"""A job of the company, and a cache without what other tests counted."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from tests.support import factories


@pytest.fixture(autouse=True)
def _empty_cache(db: None, empty_cache: None) -> None:
    """Count anew for every test."""


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)
