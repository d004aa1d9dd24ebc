"""Who calls, in the tests of the API."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.models import Application
from tests.api.caller import Caller, key_of, leave, signed_in
from tests.support import factories
from tests.support.outbox import send_at_once


@pytest.fixture(autouse=True)
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mails are in the outbox when the answer is."""
    send_at_once(monkeypatch)


@pytest.fixture
def acme(company: Company) -> Caller:
    """The company, with a key that may read and write."""
    return key_of(company.id)


@pytest.fixture
def other(transactional_db: None) -> Caller:
    """Another company, with a key that may read and write."""
    return key_of(factories.company(name="Other").id)


@pytest.fixture
def nobody(transactional_db: None) -> Caller:
    """A caller without a credential."""
    return Caller()


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
