"""What the tests share: the test database, and the environment of the processes that they start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from pipeline.models import Event

pytest_plugins = (
    "tests.support.clean_database",
    "tests.support.history",
    "tests.support.live",
    "tests.support.members",
)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let transactional tests empty the log between them; UPDATE and DELETE stay refused."""
    with django_db_blocker.unblock():
        switch_truncate_trigger("DISABLE")


def switch_truncate_trigger(how: str) -> None:
    """ENABLE or DISABLE the trigger that refuses TRUNCATE on the log."""
    trigger = next(t for t in Event._meta.triggers if t.name == "no_truncate")
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE pipeline_event {how} TRIGGER {trigger.get_pgid(Event)}")


@pytest.fixture
def truncate_is_refused() -> Iterator[None]:
    """The trigger that refuses TRUNCATE is on, as in production."""
    switch_truncate_trigger("ENABLE")
    yield
    switch_truncate_trigger("DISABLE")


def url_of(database: dict[str, Any]) -> str:
    """A DATABASE_URL for Django's settings of a database, whatever characters they hold."""

    def quoted(name: str) -> str:
        return quote(str(database.get(name) or ""), safe="")

    secret = f":{quoted('PASSWORD')}" if database.get("PASSWORD") else ""
    port = f":{quoted('PORT')}" if database.get("PORT") else ""
    if str(database["HOST"]).startswith("/"):
        host, path = "", f"{quoted('HOST')}/{quoted('NAME')}"
    else:
        host, path = quoted("HOST"), quoted("NAME")
    return f"postgres://{quoted('USER')}{secret}@{host}{port}/{path}"


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """The test database, for a process of its own."""
    return url_of(connection.settings_dict)


@pytest.fixture
def environment(database_url: str) -> dict[str, str]:
    """The environment of a process of the product that works on the test database."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {
        "DATABASE_URL": database_url,
        "SECRET_KEY": settings.SECRET_KEY,
        "DJANGO_SETTINGS_MODULE": "pipeline.settings",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
