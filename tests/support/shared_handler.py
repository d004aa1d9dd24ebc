"""One chain of middleware for all test clients, as in a server; Django builds one for each client.

It is built anew after a test has changed a setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from django.core.signals import setting_changed
from django.test import client


@pytest.fixture(scope="session", autouse=True)
def _share_the_handler() -> Iterator[None]:
    usual, shared = client.ClientHandler, cache(client.ClientHandler)

    def forget(**_changed: object) -> None:
        shared.cache_clear()

    setting_changed.connect(forget)
    client.ClientHandler = shared  # type: ignore[misc, assignment]
    yield
    client.ClientHandler = usual  # type: ignore[misc]
    setting_changed.disconnect(forget)
