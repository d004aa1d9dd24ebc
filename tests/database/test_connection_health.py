"""Lost connections, and how often connections are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections, connection, transaction
from django.test import RequestFactory

from pipeline.database import base
from tests.support import keyed_posts
from tests.support.callers import code_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A new connection; gives the backends that were asked whether they are there."""
    backends: list[int] = []
    is_usable = base.base.DatabaseWrapper.is_usable

    def noted(self: Any) -> bool:
        backends.append(self.connection.info.backend_pid)
        return bool(is_usable(self))

    monkeypatch.setattr(base.base.DatabaseWrapper, "is_usable", noted)
    connection.close()
    yield backends
    connection.close()


def read_jobs() -> int:
    """The status of a request, with what happens to connections before and after it."""
    told: list[str] = []
    environ = RequestFactory()._base_environ(PATH_INFO="/api/v1/jobs")
    answer = WSGIHandler()(environ, lambda status, _headers: told.append(status))
    answer.close()
    return int(told[0][:3])


def lose_connection() -> None:
    """End the backend of this thread's connection, from another one."""
    pid = connection.connection.info.backend_pid
    dsn = connection.connection.info.dsn
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_server_that_takes_no_writes_counts_as_away_and_the_next_request_connects_anew() -> None:
    sent = keyed_posts.a_job()
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")  # as on a standby

    first = sent.under("k")
    close_old_connections()  # as at the end of a request
    second = sent.under("k")

    assert code_of(first) == (503, "UNAVAILABLE")
    assert second.status_code == 201


def test_requests_of_one_second_ask_at_most_once(asked: list[int]) -> None:
    for _ in range(20):
        assert read_jobs() == 200

    assert len(asked) <= 1 + 20 * 0.1  # a slow machine may take two seconds for twenty


def test_a_connection_that_rested_is_asked(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_jobs()
    later = base.monotonic() + 2
    monkeypatch.setattr(base, "monotonic", lambda: later)

    read_jobs()

    assert len(asked) >= 1


def test_a_connection_lost_a_moment_ago_costs_one_503(asked: list[int]) -> None:
    read_jobs()
    connection._alive_at = base.monotonic() + 60  # type: ignore[attr-defined]  # however slow we are
    lose_connection()

    lost, next_one, after = read_jobs(), read_jobs(), read_jobs()

    assert (lost, next_one, after) == (503, 200, 200)


def test_a_connection_lost_longer_ago_costs_nothing(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "TRUSTED_SECONDS", 0)
    read_jobs()
    lose_connection()

    assert read_jobs() == 200
    assert asked


def test_a_second_that_ends_within_a_transaction_asks_nobody(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_jobs()
    connection.close_if_unusable_or_obsolete()  # as at the start of a request
    connection._alive_at = base.monotonic() + 60  # type: ignore[attr-defined]
    asked.clear()
    with transaction.atomic(), connection.cursor() as cursor:
        monkeypatch.setattr(base, "TRUSTED_SECONDS", -1e9)
        cursor.execute("SELECT 1")
        with connection.cursor() as another:
            another.execute("SELECT 1")

    assert asked == []
