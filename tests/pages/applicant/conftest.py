"""Send the emails of these tests at once."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _mail_at_once(mail_at_once: None) -> None:
    """Send every email of these tests at once."""
