"""Who sits at the browser, in the tests of a company's pages."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Membership, Role
from pipeline.models import Application
from tests import make


def browser_of(company: Company, role: Role) -> Client:
    """A browser in which a new member of a company has signed in."""
    user = make.UserFactory.create(password=None)
    Membership.objects.create(company=company, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def company(transactional_db: None) -> Company:
    """The company whose pages the tests are about."""
    return make.company(name="Acme")


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(company, Role.OWNER)


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(company, Role.RECRUITER)


@pytest.fixture
def viewer(company: Company) -> Client:
    return browser_of(company, Role.VIEWER)


@pytest.fixture
def stranger(transactional_db: None) -> Client:
    """An owner of another company."""
    return browser_of(make.company(name="Other"), Role.OWNER)


@pytest.fixture
def job(company: Company) -> UUID:
    """An open job with both seats taken and three people waiting: Person by Person."""
    job = make.job(company_id=company.id, capacity=2)
    for name in ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"):
        make.application(job, make.applicant(name=name))
    return job


def named(job_id: UUID, name: str) -> Application:
    """The application to a job under that name."""
    return Application.objects.get(job_id=job_id, name=name)
