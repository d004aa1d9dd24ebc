"""Prepared statements on Django's connection: one round trip, Django's errors, nothing stale."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import (
    DataError,
    IntegrityError,
    OperationalError,
    connection,
    transaction,
)
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from psycopg.pq import TransactionStatus

from jobs.models import Company
from tasks.sql.prepared import PreparedStatement, run_statements
from tests.support.round_trips import round_trips_of

pytestmark = pytest.mark.django_db(transaction=True)


class Sum(NamedTuple):
    """A row with names."""

    total: int
    id: UUID


ADD = PreparedStatement("SELECT %(a)s::int + %(b)s::int, %(id)s::uuid", Sum)
INVERT = PreparedStatement("SELECT 1 / %(number)s::int")
MAKE = PreparedStatement(
    "INSERT INTO jobs_company (id, name, created_at)"
    " VALUES (%(id)s, %(name)s, statement_timestamp()) RETURNING name"
)
HELD = PreparedStatement("SELECT name FROM pg_prepared_statements WHERE name LIKE 'nextinline_%%'")


def status() -> TransactionStatus:
    return connection.connection.info.transaction_status


def test_rows_have_names_and_python_types() -> None:
    own = uuid4()

    assert ADD.all(a=1, b=2, id=own) == [Sum(total=3, id=own)]
    assert INVERT.first(number=1) == (1,)


@pytest.mark.parametrize(
    ("cast", "value"),
    [("text", "é€"), ("text[]", ["a", "b"]), ("bytea", b"\x00\xff"), ("int", None), ("bool", True)],
)
def test_a_value_comes_back_as_it_was_sent(cast: str, value: object) -> None:
    assert PreparedStatement(f"SELECT %(value)s::{cast}").first(value=value) == (value,)


def test_several_statements_take_one_round_trip_with_begin_and_commit() -> None:
    run_statements([ADD, INVERT], {"a": 1, "b": 2, "id": uuid4(), "number": 1})  # prepares them

    def change() -> None:
        with transaction.atomic():
            found = run_statements(
                [ADD, INVERT], {"a": 1, "b": 2, "id": uuid4(), "number": 1}, commit=True
            )
            assert [rows[0][0] for rows in found] == [3, 1]

    assert round_trips_of(change) == 1


def test_a_transaction_of_django_begins_with_the_trip_and_ends_with_its_commit() -> None:
    with transaction.atomic():
        MAKE.all(id=uuid4(), name="Acme")
        assert status() is TransactionStatus.INTRANS

    assert status() is TransactionStatus.IDLE
    assert Company.objects.filter(name="Acme").exists()


def test_what_is_rolled_back_has_not_happened_and_the_statements_still_work() -> None:
    with transaction.atomic():
        MAKE.all(id=uuid4(), name="Acme")
        transaction.set_rollback(True)

    assert not Company.objects.exists()
    assert MAKE.all(id=uuid4(), name="Beta") == [("Beta",)]


def test_an_error_is_djangos_and_undoes_the_whole_trip() -> None:
    own = uuid4()
    with pytest.raises(DataError):
        run_statements([MAKE, INVERT], {"id": own, "name": "Acme", "number": 0})

    assert not Company.objects.exists()
    MAKE.all(id=own, name="Acme")
    with pytest.raises(IntegrityError):
        MAKE.all(id=own, name="Acme")
    assert INVERT.first(number=1) == (1,)


def test_a_broken_transaction_takes_no_more_statements() -> None:
    with transaction.atomic():
        with pytest.raises(DataError), transaction.atomic():
            INVERT.first(number=0)
        assert INVERT.first(number=1) == (1,)  # the savepoint was rolled back

        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            INVERT.first(number=1)


def test_inside_somebody_elses_transaction_commit_is_left_to_it() -> None:
    with transaction.atomic():
        with transaction.atomic():
            run_statements([MAKE], {"id": uuid4(), "name": "Acme"}, commit=True)
        assert status() is TransactionStatus.INTRANS
        transaction.set_rollback(True)

    assert not Company.objects.exists()


@pytest.mark.parametrize("command", ["DEALLOCATE ALL", "DISCARD ALL"])
@pytest.mark.parametrize("in_transaction", [False, True])
def test_statements_that_the_server_forgot_are_prepared_again(
    command: str, in_transaction: bool
) -> None:
    INVERT.first(number=1)
    with connection.cursor() as cursor:
        cursor.execute(command)

    if in_transaction:
        with transaction.atomic():
            assert run_statements([INVERT, MAKE], {"number": 1, "id": uuid4(), "name": "Acme"})
    else:
        assert run_statements([INVERT, MAKE], {"number": 1, "id": uuid4(), "name": "Acme"})

    assert Company.objects.count() == 1


def test_a_column_that_a_migration_widens_is_read_on_by_a_running_process() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE widened (name varchar(10))")
        cursor.execute("INSERT INTO widened VALUES ('Ann')")
    read = PreparedStatement("SELECT name FROM widened")
    assert read.all() == [("Ann",)]

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE widened ALTER COLUMN name TYPE varchar(20)")
    try:
        assert read.all() == [("Ann",)]
        with transaction.atomic():
            assert read.all() == [("Ann",)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE widened")


def test_in_the_middle_of_a_transaction_forgotten_statements_are_an_error_once() -> None:
    INVERT.first(number=1)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        with pytest.raises(OperationalError):
            INVERT.first(number=1)
        transaction.set_rollback(True)

    assert INVERT.first(number=1) == (1,)


def test_a_lost_connection_is_an_error_once() -> None:
    INVERT.first(number=1)
    end_session(connection.connection.info.backend_pid)

    with pytest.raises(OperationalError):
        INVERT.first(number=1)

    connection.close_if_unusable_or_obsolete()
    assert INVERT.first(number=1) == (1,)


def test_large_values_pass_in_both_directions_at_once() -> None:
    both = PreparedStatement("SELECT %(text)s::text")

    echoed = run_statements([both, both], {"text": "é" * 4_000_000})

    assert [len(rows[0][0]) for rows in echoed] == [4_000_000, 4_000_000]


def test_queries_are_in_djangos_log() -> None:
    with CaptureQueriesContext(connection) as seen:
        run_statements([ADD, INVERT], {"a": 1, "b": 2, "id": uuid4(), "number": 1})

    assert len(seen) == 2


def test_without_preparing_nothing_is_kept_on_the_server(settings: Any) -> None:
    settings.PREPARED_STATEMENTS = False
    connection.close()

    assert ADD.first(a=1, b=2, id=uuid4())
    assert HELD.all() == []

    settings.PREPARED_STATEMENTS = True
    connection.close()
    ADD.first(a=1, b=2, id=uuid4())
    assert len(HELD.all()) == 2  # it and the question itself: the control


@pytest.mark.slow
def test_a_look_up_costs_a_fraction_of_the_same_by_the_orm() -> None:
    look = PreparedStatement("SELECT id, name FROM jobs_company WHERE id = %(id)s")

    def cost(act: Callable[[], object]) -> float:
        act()
        began = time.process_time()
        for _ in range(300):
            act()
        return time.process_time() - began

    own = uuid4()
    ours = min(cost(lambda: look.first(id=own)) for _ in range(3))
    orms = min(cost(lambda: Company.objects.filter(id=own).first()) for _ in range(3))
    assert ours < orms / 3


def end_session(pid: int) -> None:
    """End a session of the database as its operator would."""
    chosen = connection.get_connection_params()
    where = {name: chosen[name] for name in ("dbname", "user", "host", "port") if name in chosen}
    with psycopg.connect(**where, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    time.sleep(0.2)
