"""What reads share: a page of rows, and a picture of one instant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db import connection, transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list in order, and whether more come after them."""

    rows: list[T]
    more: bool

    @classmethod
    def cut(cls, rows: list[T], limit: int) -> Page[T]:
        """A page of at most `limit` rows, from a read of up to one row more."""
        return cls(rows[:limit], len(rows) > limit)


@contextmanager
def one_instant() -> Iterator[None]:
    """Whatever is read inside shows the database as of one instant; nothing can be written."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def database_now() -> datetime:
    """What the one clock that counts says."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
