"""Accounts and browsers, in the tests of the staff's pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from jobs.models import Company, Membership, Role, User
from tests.support import factories
from tests.support.outbox import send_at_once

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def _nothing_counted(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Iterator[None]:
    """Every test starts with whole rates; mails are there at once, passwords are hashed fast."""
    send_at_once(monkeypatch)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def company() -> Company:
    return factories.company(name="Acme")


@pytest.fixture
def ada(company: Company) -> User:
    """An owner of Acme, with a password."""
    return member(company, Role.OWNER, email="ada@example.org")


def member(company: Company, role: Role, **fields: Any) -> User:
    """A new member of a company."""
    user = factories.UserFactory.create(**fields)
    Membership.objects.create(company=company, user=user, role=role)
    return user


def browser_of(user: User) -> Client:
    """A browser in which an account has signed in."""
    client = Client()
    client.force_login(user)
    return client


def sign_in(email: str, password: str = PASSWORD, client: Client | None = None) -> Any:
    """What the sign-in form answers."""
    form = {"login": email, "password": password}
    return (client or Client()).post("/account/login/", form)


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200
