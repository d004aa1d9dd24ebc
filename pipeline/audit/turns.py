"""Turns of reads that go through a long log: one at a time for each company, over all processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection

from pipeline.database.instants import one_instant
from pipeline.database.statement_time import limit_statement_time
from pipeline.domain.errors import LogReadersBusy
from tasks.advisory_locks import HEAVY_READ_TURN

# A shorter log is read at once.
LONG_LOG = 5_000
LONGEST_SECONDS = 5.0  # for one statement


@contextmanager
def turn_for_heavy_read(company_id: UUID, *, events: int) -> Iterator[None]:
    """Read a log of that many events; a long one as of one instant, within bounds, in a turn.

    Raises LogReadersBusy when another read of the company's has the turn.
    """
    if events <= LONG_LOG:
        yield
        return
    with one_instant():
        take_turn(company_id)
        limit_statement_time(LONGEST_SECONDS)
        yield


def take_turn(company_id: UUID) -> None:
    """Take the company's turn until this transaction ends. Raises LogReadersBusy."""
    number = int.from_bytes(company_id.bytes[-4:], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [HEAVY_READ_TURN, number])
        if not cursor.fetchone()[0]:
            raise LogReadersBusy
