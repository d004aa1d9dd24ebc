"""A site at which time stands still, so that each picture of a page is the same at any time.

The database's clocks are functions of a schema that comes first on the search path, as in the
demo's past. The server's clock is Python's, replaced before anything else is imported. The browser
gets its clock from Playwright.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock
from urllib.parse import quote

from django.db import connection

from tests.support.environment import ROOT

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)  # a Wednesday
SEARCH_PATH = "still, public, pg_catalog"
_CLOCKS = ("clock_timestamp", "statement_timestamp", "transaction_timestamp", "now")
# A default of a column names PostgreSQL's own clock, whatever the search path.
_DEFAULTS = """
SELECT format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT ', adrelid::regclass, attname),
    pg_get_expr(adbin, adrelid)
FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
WHERE pg_get_expr(adbin, adrelid) ~ '(now|_timestamp)\\(\\)'
"""
_STILL = """
import datetime, time

right = datetime.datetime
time.time = lambda: {seconds}

class Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, right)

class Still(right, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return right.fromtimestamp({seconds}, tz)
    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)
    @classmethod
    def today(cls):
        return cls.now()

Still.__name__ = Still.__qualname__ = "datetime"
Still.__module__ = "datetime"
datetime.datetime = Still
"""


def still_environment(environment: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the environment of a process for which it is always NOW."""
    (folder / "sitecustomize.py").write_text(_STILL.format(seconds=NOW.timestamp()))
    option = quote(f"-c search_path={SEARCH_PATH.replace(' ', '')}")
    return environment | {
        "DJANGO_SETTINGS_MODULE": "tests.browser.still_settings",
        "PYTHONPATH": f"{folder}:{ROOT}",
        "DATABASE_URL": f"{environment['DATABASE_URL']}?options={option}",
    }


@contextmanager
def still_database() -> Iterator[None]:
    """Create the clocks for all sessions that ask for them, and write rows by them in the block."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA still")
        for name in _CLOCKS:
            cursor.execute(
                f"CREATE FUNCTION still.{name}() RETURNS timestamptz STABLE LANGUAGE sql"
                f" AS $$ SELECT timestamptz '{NOW.isoformat()}' $$"
            )
        cursor.execute(_DEFAULTS)
        defaults = cursor.fetchall()
        for change, _ in defaults:
            cursor.execute(f"{change} still.now()")
        cursor.execute(f"SET search_path = {SEARCH_PATH}")
    try:
        with mock.patch("django.utils.timezone.now", return_value=NOW):
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET search_path")
            for change, usual in defaults:
                cursor.execute(change + usual)
            cursor.execute("DROP SCHEMA still CASCADE")
