"""What the tests of people share."""

from __future__ import annotations

import pytest

from tests.support.outbox import send_at_once


@pytest.fixture
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mails are in the outbox as soon as their cause is committed."""
    send_at_once(monkeypatch)
