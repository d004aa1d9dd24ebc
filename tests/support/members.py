"""The company that tests are about: browsers and API callers of its members, and of a stranger."""

from __future__ import annotations

import pytest
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company, Role
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import Caller, SessionCaller, key_of, member_caller, signed_in


@pytest.fixture
def company(transactional_db: None) -> Company:
    """Return the company that the tests are about."""
    return factories.company(name="Acme")


@pytest.fixture
def other_company(transactional_db: None) -> Company:
    """Return a company that has nothing to do with Acme."""
    return factories.company(name="Other")


@pytest.fixture
def owner(company: Company) -> Client:
    """Return the browser of an owner."""
    return browser_of(member_of(company, Role.OWNER))


@pytest.fixture
def recruiter(company: Company) -> Client:
    """Return the browser of a recruiter."""
    return browser_of(member_of(company, Role.RECRUITER))


@pytest.fixture
def viewer(company: Company) -> Client:
    """Return the browser of a viewer."""
    return browser_of(member_of(company, Role.VIEWER))


@pytest.fixture
def stranger(other_company: Company) -> Client:
    """Return the browser of an owner of another company."""
    return browser_of(member_of(other_company, Role.OWNER))


@pytest.fixture
def visitor() -> Client:
    """Return a browser in which nobody is signed in."""
    return Client()


@pytest.fixture
def applicant(transactional_db: None) -> Applicant:
    """Return a person who has not applied to anything."""
    return factories.applicant(name="Ana Li")


@pytest.fixture
def applicant_page(applicant: Applicant) -> Client:
    """Return the browser of the applicant."""
    return applicant_browser(applicant)


@pytest.fixture
def applicant_api(applicant: Applicant) -> Caller:
    """Return an API caller with a token of the applicant."""
    return signed_in(applicant)


@pytest.fixture
def acme(company: Company) -> Caller:
    """Return an API caller with a key of the company that may read and write."""
    return key_of(company.id)


@pytest.fixture
def other(other_company: Company) -> Caller:
    """Return an API caller with a key of another company that may read and write."""
    return key_of(other_company.id)


@pytest.fixture
def nobody(transactional_db: None) -> Caller:
    """Return an API caller without a credential."""
    return Caller()


@pytest.fixture
def owner_api(company: Company) -> SessionCaller:
    """Return an API caller in whose browser an owner has signed in."""
    return member_caller(company, Role.OWNER)


@pytest.fixture
def recruiter_api(company: Company) -> SessionCaller:
    """Return an API caller in whose browser a recruiter has signed in."""
    return member_caller(company, Role.RECRUITER)


@pytest.fixture
def viewer_api(company: Company) -> SessionCaller:
    """Return an API caller in whose browser a viewer has signed in."""
    return member_caller(company, Role.VIEWER)


@pytest.fixture
def stranger_api(other_company: Company) -> SessionCaller:
    """Return an API caller in whose browser an owner of another company has signed in."""
    return member_caller(other_company, Role.OWNER)
