"""Prepared statements as of one instant: one round trip, one state, and nothing left open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DataError, InternalError, connection
from psycopg.pq import TransactionStatus

from jobs.models import Company
from tasks.sql.prepared import PreparedStatement, run_statements
from tests.support.round_trips import round_trips_of
from tests.support.together import wait_until_somebody_waits_for_a_lock
from tests.tasks.sql.test_prepared import INVERT, MAKE, status

pytestmark = pytest.mark.django_db(transaction=True)

NAMED = PreparedStatement("SELECT name FROM jobs_company WHERE id = %(id)s")


def test_reads_as_of_one_instant_take_one_round_trip_and_leave_no_transaction() -> None:
    own = uuid4()
    MAKE.all(id=own, name="Acme")
    run_statements([NAMED, NAMED], {"id": own}, snapshot=True)  # prepares it

    found: list[Any] = []
    trips = round_trips_of(
        lambda: found.extend(run_statements([NAMED, NAMED], {"id": own}, snapshot=True))
    )

    assert found == [[("Acme",)], [("Acme",)]]
    assert trips == 1
    assert status() is TransactionStatus.IDLE


def test_statements_of_a_snapshot_do_not_see_what_is_committed_between_them() -> None:
    own = uuid4()
    MAKE.all(id=own, name="Acme")
    rename = PreparedStatement("UPDATE jobs_company SET name = 'Other' WHERE id = %(id)s")
    wait = PreparedStatement("SELECT pg_advisory_xact_lock_shared(1, 4711)::text")
    seen: dict[bool, list[str]] = {}

    for snapshot in (True, False):  # without it, the second read sees the new name
        MAKE_AGAIN.all(id=own)
        with ThreadPoolExecutor(1) as other, connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(1, 4711)")
            reading = other.submit(_read_around, wait, own, snapshot=snapshot)
            wait_until_somebody_waits_for_a_lock()
            rename.all(id=own)
            cursor.execute("SELECT pg_advisory_unlock(1, 4711)")
            seen[snapshot] = reading.result()

    assert seen == {True: ["Acme", "Acme"], False: ["Acme", "Other"]}


MAKE_AGAIN = PreparedStatement("UPDATE jobs_company SET name = 'Acme' WHERE id = %(id)s")


def _read_around(wait: PreparedStatement[Any], own: UUID, *, snapshot: bool) -> list[str]:
    try:
        found = run_statements([NAMED, wait, NAMED], {"id": own}, snapshot=snapshot)
        return [found[0][0][0], found[2][0][0]]
    finally:
        connection.close()


def test_a_snapshot_that_fails_or_writes_leaves_the_connection_usable() -> None:
    with pytest.raises(DataError):
        run_statements([NAMED, INVERT], {"id": uuid4(), "number": 0}, snapshot=True)
    assert status() is TransactionStatus.IDLE

    with pytest.raises(InternalError, match="read-only"):
        run_statements([MAKE], {"id": uuid4(), "name": "Acme"}, snapshot=True)
    assert INVERT.first(number=1) == (1,)
    assert not Company.objects.exists()
