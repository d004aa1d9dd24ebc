"""An owner with a password, and rates that no other test used up."""

from __future__ import annotations

import pytest

from jobs.models import Company, User
from tests.support.accounts import PASSWORD, member_of


@pytest.fixture(autouse=True)
def _fresh_start(transactional_db: None, empty_cache: None, mail_at_once: None) -> None:
    """Start every test with whole rates, and send its emails at once."""


@pytest.fixture
def ada(company: Company) -> User:
    """Return the account of an owner of Acme, with a password."""
    return member_of(company, email="ada@example.org", password=PASSWORD)
