"""Turns to read long logs: one read at a time per company, across all processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection

from pipeline.database.instants import one_instant
from pipeline.database.replica import replica_if_current
from pipeline.database.statement_time import limit_statement_time
from pipeline.domain.errors import LogReadersBusy
from tasks.advisory_locks import HEAVY_READ_TURN

# Shorter logs need no turn.
LONG_LOG = 5_000
LONGEST_SECONDS = 5.0  # for one statement


@contextmanager
def turn_for_heavy_read(company_id: UUID, *, events: int) -> Iterator[None]:
    """Run a read of a log of that many events. A long one gets a snapshot, a time limit and a turn.

    Raises LogReadersBusy if another read for the company has the turn.
    """
    if events <= LONG_LOG:
        yield
        return
    with replica_if_current(), one_instant():
        take_turn_for_heavy_read(company_id)
        limit_statement_time(LONGEST_SECONDS)
        yield


def take_turn_for_heavy_read(company_id: UUID) -> None:
    """Take the company's turn until the transaction ends. Raises LogReadersBusy."""
    number = int.from_bytes(company_id.bytes[-4:], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [HEAVY_READ_TURN, number])
        if not cursor.fetchone()[0]:
            raise LogReadersBusy
