"""The environment of a process of the product that works on the test database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]


def url_of(database: dict[str, Any]) -> str:
    """Return a DATABASE_URL for Django's settings of a database, whatever characters they hold."""

    def quoted(name: str) -> str:
        return quote(str(database.get(name) or ""), safe="")

    secret = f":{quoted('PASSWORD')}" if database.get("PASSWORD") else ""
    port = f":{quoted('PORT')}" if database.get("PORT") else ""
    if str(database["HOST"]).startswith("/"):
        host, path = "", f"{quoted('HOST')}/{quoted('NAME')}"
    else:
        host, path = quoted("HOST"), quoted("NAME")
    return f"postgres://{quoted('USER')}{secret}@{host}{port}/{path}"


def process_environment(**changes: str) -> dict[str, str]:
    """Return the environment of a process on the test database, with these changes."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    product = {
        "DATABASE_URL": url_of(connection.settings_dict),
        "SECRET_KEY": settings.SECRET_KEY,
        "DECISION_UNDO_SECONDS": "0",
        "DEMO_TASKS": "on",
        "SIGN_UP": "open",
        "ATTACHMENT_STORAGE": settings.STORAGES["attachments"]["OPTIONS"]["location"],
        "ATTACHMENT_REMOVALS_FILE": str(settings.ATTACHMENT_REMOVALS_FILE),
        "WEBHOOK_ALLOW_PRIVATE": "on",
        "DJANGO_SETTINGS_MODULE": "pipeline.settings",
        "PYTHONPATH": str(ROOT),
    }
    return kept | product | changes


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """Return the DATABASE_URL of the test database."""
    return url_of(connection.settings_dict)


@pytest.fixture
def environment(transactional_db: None) -> dict[str, str]:
    """Return the environment of a process on the test database."""
    return process_environment()
