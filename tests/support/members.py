"""A company, browsers of its owner, recruiter and viewer, and the browser of a stranger."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Membership, Role
from pipeline.models import Application
from tests.support import factories


def browser_of(company: Company, role: Role) -> Client:
    """A browser in which a new member of a company has signed in."""
    user = factories.UserFactory.create(password=None)
    Membership.objects.create(company=company, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def company(transactional_db: None) -> Company:
    """The company that the tests are about."""
    return factories.company(name="Acme")


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
    return browser_of(factories.company(name="Other"), Role.OWNER)


def named(job_id: UUID, name: str) -> Application:
    """The application to a job under that name."""
    return Application.objects.get(job_id=job_id, name=name)
