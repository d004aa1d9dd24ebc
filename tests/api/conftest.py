"""A job and an offer that the tests of the API call about."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.models import Application
from tests.support import factories
from tests.support.callers import leave, signed_in


@pytest.fixture(autouse=True)
def _mail_at_once(mail_at_once: None) -> None:
    """Send every email of these tests at once."""


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with two seats: one active, one on offer, and three waiting."""
    job = factories.job(company_id=company.id, capacity=2)
    people = factories.applications(job, 6)
    signed_in(people[0].applicant).post(f"/applications/{people[0].id}/withdraw")
    return job


@pytest.fixture
def offered(company: Company) -> Application:
    """An application that has a seat on offer, with two people waiting behind."""
    job = factories.job(company_id=company.id)
    first, second, _third, _fourth = factories.applications(job, 4)
    leave(first)
    return factories.fresh(second)
