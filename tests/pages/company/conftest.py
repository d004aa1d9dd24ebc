"""The job on the pages of a company."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from tests.support import factories


@pytest.fixture
def job(company: Company) -> UUID:
    """An open job with both seats taken and three people waiting: Person by Person."""
    job = factories.job(company_id=company.id, capacity=2)
    for name in ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"):
        factories.application(job, factories.applicant(name=name))
    return job
