"""Reading pages and pressing their buttons."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from pipeline.models import Application
from pipeline.services.withdraw import withdraw
from tests.support import factories


def page_of(client: Client, path: str) -> str:
    """The page at an address, on one line."""
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def follow(client: Client, path: str, data: dict[str, Any]) -> str:
    """The page that a button leads to, on one line."""
    answer = client.post(path, data, follow=True)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def leave(application: Application) -> None:
    """A person withdraws."""
    withdraw(application_id=application.id, actor=factories.owner_of(application))
