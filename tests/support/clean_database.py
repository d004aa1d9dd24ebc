"""Empty the test database after a test that committed: only tables with rows, in one statement.

Django's own way truncates every table and then runs all that follows a migration, which takes a
tenth of a second; a thousand tests do it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import TransactionTestCase

from pipeline.models import Event
from tasks import registry

# Written by `migrate` and changed by no test. The task types are written anew.
KEPT = ("django_migrations", "django_content_type", "auth_permission")

_EMPTY = """
DO $$
DECLARE each text; has_rows boolean; found text[] = '{}';
BEGIN
    FOR each IN SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> ALL (%(kept)s)
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || each || ')' INTO has_rows;
        IF has_rows THEN found = found || each; END IF;
    END LOOP;
    IF found <> '{}' THEN EXECUTE 'TRUNCATE ' || array_to_string(found, ', ') || ' CASCADE'; END IF;
END $$
"""


def empty_the_database() -> None:
    """Remove every row that a test can have left.

    Try three times: a process that a test has just killed may still hold locks for a moment.
    """
    for tries_left in (2, 1, 0):
        try:
            with connection.cursor() as cursor:
                cursor.execute(_EMPTY.replace("%(kept)s", f"ARRAY{list(KEPT)}"))
            registry.write_registered_types()
            return
        except OperationalError:
            if not tries_left:
                raise


@pytest.fixture(scope="session", autouse=True)
def _empty_quickly() -> None:
    TransactionTestCase._fixture_teardown = lambda _case: empty_the_database()  # type: ignore[attr-defined]


def switch_truncate_trigger(how: str) -> None:
    """ENABLE or DISABLE the trigger that refuses TRUNCATE on the log."""
    triggers = Event._meta.triggers  # type: ignore[attr-defined]
    trigger = next(each for each in triggers if each.name == "no_truncate")
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE pipeline_event {how} TRIGGER {trigger.get_pgid(Event)}")


@pytest.fixture
def empty_cache() -> Iterator[None]:
    """Empty the cache before and after the test, and rate limits with it."""
    cache.clear()
    yield
    cache.clear()
