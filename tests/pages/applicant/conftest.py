"""What the tests of the applicants' pages share."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.outbox import send_at_once


@pytest.fixture(autouse=True)
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mails are in the outbox as soon as their cause is committed."""
    send_at_once(monkeypatch)


@pytest.fixture
def visitor() -> Client:
    """A browser in which nobody is signed in."""
    return Client()
