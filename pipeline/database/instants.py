"""Reads as of one instant, and the database's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything in the block as of one instant. Writing fails."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def now(*, ahead_seconds: int = 0) -> datetime:
    """Return the time on the database's clock, which every deadline goes by.

    `ahead_seconds`: how far a sandbox's clock is ahead of it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0] + timedelta(seconds=ahead_seconds)
