"""Simulated clock, under which the real services write the demo's past.

Only the demo uses it, and nothing can switch it on from outside. The transaction that writes the
past first creates functions named like PostgreSQL's clocks, in the role that owns the tables, and
puts their schema before PostgreSQL's own on its search path. It drops them before it commits. So
no other connection ever sees them, not even after a crash, and the application's role, which may
not create functions, cannot do the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection, transaction

from pipeline.database import instants, roles
from tasks.sql.prepared import PreparedStatement

_CLOCKS = ("clock_timestamp", "statement_timestamp", "transaction_timestamp", "now")
_SETTING = "simulated_clock.now"
_CREATE = """
CREATE FUNCTION public.{name}() RETURNS timestamptz STABLE LANGUAGE sql
AS $$ SELECT pg_catalog.current_setting('{setting}')::timestamptz $$
"""

_SET = PreparedStatement("SELECT set_config(%(name)s, %(value)s, true)")


class SimulatedClock:
    """Clock of one transaction. `end` is the real time at its start, which it cannot pass."""

    def __init__(self) -> None:
        self.end = instants.now()
        self._now: datetime | None = None

    def set(self, moment: datetime) -> None:
        """Set the clock. Raises ValueError for a time after the start, or before the last one.

        Until it is set, every statement that reads a clock fails.
        """
        if moment > self.end or (self._now and moment < self._now):
            raise ValueError(f"{moment} is not between {self._now} and {self.end}")
        self._now = moment
        _SET.all(name=_SETTING, value=moment.isoformat())


@contextmanager
def simulated_time() -> Iterator[SimulatedClock]:
    """Run the block in one transaction, under a clock that the block sets.

    Everything in it is committed together, or nothing. Services nest in it as in a test.
    """
    with roles.migrating():
        connection.ensure_connection()
        transaction.set_autocommit(False)
        try:
            clock = SimulatedClock()
            with connection.cursor() as cursor:
                for name in _CLOCKS:
                    cursor.execute(_CREATE.format(name=name, setting=_SETTING))
                cursor.execute("SET LOCAL search_path = public, pg_catalog")
            yield clock
            with connection.cursor() as cursor:
                for name in _CLOCKS:
                    cursor.execute(f"DROP FUNCTION public.{name}()")
            transaction.commit()
        except BaseException:
            transaction.rollback()
            raise
        finally:
            transaction.set_autocommit(True)
