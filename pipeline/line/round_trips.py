"""Round trips of the hot path: several statements in each, prepared by a connection when repeated.

While a job's lock is held, every trip to the database and back makes all others on that job wait.
So the lock and the first look share a trip, and so do the writing and the COMMIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

Parameters = Mapping[str, Any]
Row = tuple[Any, ...]


def fetch(*statements: str, parameters: Parameters) -> list[list[Row]]:
    """Fetch the rows of each statement in one round trip; each sees what was committed before it.

    Raises django.db.OperationalError when a lock is not obtained in time.
    """
    with _pipeline() as session:
        cursors = [_execute(session, statement, parameters) for statement in statements]
    return [cursor.fetchall() for cursor in cursors]  # the pipeline's end has brought them all


def send(*statements: str, parameters: Parameters, commit: bool = False) -> None:
    """Run statements, and commit if asked to, in one round trip. Raises django.db.IntegrityError.

    Django then finds the transaction committed and does nothing more. Inside an outer transaction
    (a test's) there is only a savepoint, which is left to Django.
    """
    with _pipeline() as session:
        for statement in statements:
            _execute(session, statement, parameters)
        if commit and not connection.savepoint_ids:
            session.execute("COMMIT")  # its commit() would be one more trip


@contextmanager
def _pipeline() -> Iterator[psycopg.Connection[Row]]:
    connection.ensure_connection()
    session = connection.connection
    with connection.wrap_database_errors, session.pipeline():
        yield session


def _execute(
    session: psycopg.Connection[Row], statement: str, parameters: Parameters
) -> psycopg.Cursor[Row]:
    return psycopg.Cursor(session).execute(statement.encode(), parameters)
