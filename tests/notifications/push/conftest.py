"""Fixtures for the tests of notifications: a site that sends them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _on(push_on: None, settings: Any) -> None:
    """Send emails and notifications."""
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"
