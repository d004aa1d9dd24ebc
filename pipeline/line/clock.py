"""Clock of a company: the database's, or in a sandbox one that is ahead of it.

The company's row holds the offset. Each of its jobs has a copy on its hot row, so that a change of
a line reads it under the lock that it takes anyway. Only this module keeps the two equal.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

# While a clock is being moved, no job is created under it. `FOR UPDATE` would deadlock: a change
# that writes its job twice has the job's foreign key checked at its commit, and that takes
# `FOR KEY SHARE`. The clock is read after the lock, as that of a job is (`pipeline.line.sql`).
_HOLD = """
WITH held AS MATERIALIZED (
    SELECT sandbox_of_id, clock_offset_seconds FROM jobs_company WHERE id = %s FOR {lock}
)
SELECT sandbox_of_id IS NOT NULL, clock_offset_seconds,
       clock_timestamp() + make_interval(secs => clock_offset_seconds)
FROM held
"""
_READ = """
SELECT sandbox_of_id IS NOT NULL, clock_offset_seconds,
       clock_timestamp() + make_interval(secs => clock_offset_seconds)
FROM jobs_company WHERE id = %s
"""


class CompanyClock(NamedTuple):
    """Clock of a company, and how far it is ahead of the database's: 0 unless it is a sandbox."""

    is_test: bool
    offset_seconds: int
    now: datetime


def read_company_clock(company_id: UUID) -> CompanyClock:
    """Return a company's clock, in one query. The company exists."""
    return _fetch(_READ, company_id)


def hold_company_clock(company_id: UUID) -> CompanyClock:
    """Return a company's clock, which cannot be moved before this transaction ends."""
    return _fetch(_HOLD.format(lock="SHARE"), company_id)


def lock_company_clock(company_id: UUID) -> CompanyClock:
    """Return a company's clock, to move it. No job is created before this transaction ends."""
    return _fetch(_HOLD.format(lock="NO KEY UPDATE"), company_id)


def _fetch(statement: str, company_id: UUID) -> CompanyClock:
    with connection.cursor() as cursor:
        cursor.execute(statement, [company_id])
        return CompanyClock(*cursor.fetchone())
