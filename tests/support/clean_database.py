"""Empty the test database after a test that committed.

Django's own way truncates every table and then runs all post-migration steps, which takes a tenth
of a second; thousands of tests do it. A truncated table gets new files, and so does each of its
indexes. A test leaves few rows, so a function of the database deletes them, with plans that are
kept from test to test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase
from psycopg.pq import ExecStatus, TransactionStatus

from pipeline.models import Event
from tasks import registry
from tasks.registry import TaskSpec

# Written by `migrate` and changed by no test. The task types are put back as they are registered.
KEPT = ("django_migrations", "django_content_type", "auth_permission", "tasks_tasktype")
# A larger table is truncated, so that the next tests do not read past its dead rows.
LARGE_BYTES = 131_072

# What a test may have changed of its session. What was prepared stays, as in production.
RENEW = b"""
RESET ALL; CLOSE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP
"""
_TABLES = """
SELECT quote_ident(tablename) FROM pg_tables
WHERE schemaname = 'public' AND tablename <> ALL (%s) ORDER BY tablename
"""
_NEW_SCHEMA = """
DROP SCHEMA IF EXISTS testing CASCADE;
CREATE SCHEMA testing;
CREATE TABLE testing.task_types (LIKE tasks_tasktype)
"""
# The lock waits for transactions that still write, so that none of them leaves a row after this.
# One statement asks all tables, because most are empty. Tables that a test has made are emptied
# too: their numbers are larger.
_FUNCTION = """
CREATE FUNCTION testing.empty_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE each text; large text[] = '{{}}'; filled boolean[];
BEGIN
    LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE;
    filled = ARRAY[{questions}];
    {removals}
    FOR each IN SELECT quote_ident(relname) FROM pg_class
        WHERE oid > {newest} AND relkind = 'r' AND relnamespace = 'public'::regnamespace
    LOOP EXECUTE 'DELETE FROM ' || each; END LOOP;
    IF large <> '{{}}' THEN
        EXECUTE 'TRUNCATE ' || array_to_string(large, ', ') || ' CASCADE';
    END IF;
    IF EXISTS ((TABLE tasks_tasktype EXCEPT ALL TABLE testing.task_types)
               UNION ALL (TABLE testing.task_types EXCEPT ALL TABLE tasks_tasktype)) THEN
        DELETE FROM tasks_tasktype;
        INSERT INTO tasks_tasktype TABLE testing.task_types;
    END IF;
END $$
"""
# A superuser may let triggers and foreign keys rest meanwhile.
_DELETE = """
    IF filled[{number}] THEN
        DELETE FROM {table};
        IF pg_table_size('{table}') > {size} THEN large = large || '{table}'::text; END IF;
    END IF;
"""
_TRUNCATE = """
    IF filled[{number}] THEN large = large || '{table}'::text; END IF;
"""


class Cleaner:
    """The function that empties the test database, and a connection on which its plans are kept.

    Django closes its own connection after every test that commits.
    """

    def __init__(self) -> None:
        self._session: BaseDatabaseWrapper | None = None
        # The registered types at the time at which `testing.task_types` was written.
        self._types: list[TaskSpec] = []

    def empty(self) -> None:
        """Remove every row that a test can have left."""
        if self._session is None:
            self._session = connection.copy()
        if self._types != [*registry.registered_types()]:
            self._prepare(self._session)
        with self._session.cursor() as cursor:
            cursor.execute("SELECT testing.empty_tables()")

    def forget(self) -> None:
        """Close the connection, and write the function again before the next use."""
        if self._session is not None:
            self._session.close()
        self._session, self._types = None, []

    def _prepare(self, session: BaseDatabaseWrapper) -> None:
        """Write the function for the existing tables, and the registered task types."""
        with session.cursor() as cursor:
            cursor.execute(_TABLES, [list(KEPT)])
            tables = [name for (name,) in cursor.fetchall()]
            cursor.execute("SHOW is_superuser")
            is_superuser = cursor.fetchone() == ("on",)
            cursor.execute("SELECT max(oid::bigint) FROM pg_class WHERE relkind = 'r'")
            [newest] = cursor.fetchone()
            each = _DELETE if is_superuser else _TRUNCATE
            if is_superuser:  # for the session: each change would throw all plans away
                cursor.execute("SET session_replication_role = replica")
            function = _FUNCTION.format(
                tables=", ".join(tables),
                questions=", ".join(f"EXISTS (SELECT FROM {table})" for table in tables),
                removals="".join(
                    each.format(table=table, size=LARGE_BYTES, number=number)
                    for number, table in enumerate(tables, 1)
                ),
                newest=newest,
            )
            cursor.execute(f"{_NEW_SCHEMA}; {function}; SELECT testing.empty_tables()")
            registry.write_registered_types()
            cursor.execute("INSERT INTO testing.task_types TABLE tasks_tasktype")
        self._types = [*registry.registered_types()]


_cleaner = Cleaner()


def empty_the_database() -> None:
    """Remove every row that a test can have left.

    Try three times: a process that a test has just killed may still hold locks for a moment, and a
    test may have removed a table or ended all connections.
    """
    _renew_connection()
    for tries_left in (2, 1, 0):
        try:
            _cleaner.empty()
            return
        except DatabaseError:
            _cleaner.forget()
            if not tries_left:
                raise


def _renew_connection() -> None:
    """Leave the connection to the next test as a new one would be; close it if that is impossible.

    For a new one, the server starts a process, which reads and plans everything again.
    """
    raw = connection.connection
    if raw is None:
        return
    is_idle = not raw.closed and raw.info.transaction_status is TransactionStatus.IDLE
    is_as_new = False
    if is_idle and raw.autocommit and not connection.in_atomic_block:
        with suppress(psycopg.Error, DatabaseError):
            is_as_new = raw.pgconn.exec_(RENEW).status is not ExecStatus.FATAL_ERROR
            connection.ensure_timezone()
    if not is_as_new:
        connection.close()


@pytest.fixture(autouse=True)
def _own_connection_for_long_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test that is marked as slow plan its statements for its own rows.

    Close its connection afterwards: beside a browser, nothing would find it later, because
    Playwright's loop counts as running in this thread.
    """
    is_long = any(map(request.node.get_closest_marker, ("slow", "browser")))
    is_long &= not connection.in_atomic_block
    if is_long:
        connection.close()
    yield
    if is_long:
        connection.close()


@pytest.fixture(scope="module")
def kept_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Keep all rows until the last test of the module, for tests that only read or are refused.

    Such a module has no mark for the database and no fixture that empties it.
    """
    with django_db_blocker.unblock():
        yield
        empty_the_database()


def close_cleaner() -> None:
    """Close the connection that empties the database, so that the database can be dropped."""
    _cleaner.forget()


@pytest.fixture(scope="session", autouse=True)
def _empty_quickly() -> None:
    TransactionTestCase._should_reload_connections = lambda _case: False  # type: ignore[attr-defined]
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
