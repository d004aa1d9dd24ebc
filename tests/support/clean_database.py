"""Emptying the test database after a test that committed: only what has rows, and in one go.

Django's own way truncates every table and then runs all that follows a migration, which takes a
tenth of a second; a thousand tests do it.
"""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.test import TransactionTestCase

from tasks import registry

KEPT = ("django_migrations", "django_content_type", "auth_permission")
"""What `migrate` wrote and no test changes. The types of tasks are written anew."""

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

    A process that a test has just killed may still hold locks for a moment: then once more.
    """
    for tries_left in (2, 1, 0):
        try:
            with connection.cursor() as cursor:
                cursor.execute(_EMPTY.replace("%(kept)s", f"ARRAY{list(KEPT)}"))
            registry.sync()
            return
        except OperationalError:
            if not tries_left:
                raise


@pytest.fixture(scope="session", autouse=True)
def _empty_quickly() -> None:
    TransactionTestCase._fixture_teardown = lambda _case: empty_the_database()  # type: ignore[method-assign]
