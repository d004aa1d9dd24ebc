"""Errors that repeat are written once a minute, and an outage of the database in one line."""

from __future__ import annotations

import logging

import django.db
import psycopg
import pytest

from tasks import failure_log
from tasks.errors import DatabaseAway
from tasks.failure_log import FailureLog, is_database_away

log = logging.getLogger(__name__)


class Clock:
    """Monotonic clock that the test moves."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(failure_log, "time", clock)
    return clock


def away(sqlstate: str | None = None) -> django.db.OperationalError:
    """Return Django's error for a database that cannot be used."""
    cause = psycopg.errors.lookup(sqlstate)() if sqlstate else psycopg.OperationalError("refused")
    error = django.db.OperationalError("connection refused\n\tIs the server running?")
    error.__cause__ = cause
    return error


def test_an_outage_of_four_minutes_is_one_line_at_once_one_a_minute_and_one_at_its_end(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    failures = FailureLog()
    for _ in range(240):
        failures.write_failure(log, "a step failed", away())
        clock.now += 1
    failures.write_answer(log)
    failures.write_answer(log)

    lines = caplog.text.splitlines()
    assert len(lines) == 5
    assert lines[0].endswith(
        "a step failed: the database is away, and is tried again:"
        " connection refused Is the server running?"
    )
    assert "still away after 60 s and 61 attempts" in lines[1]
    assert lines[-1].endswith("the database answers again after 240 s and 240 failed attempts")
    assert max(map(len, lines)) < 300


def test_a_database_that_comes_and_goes_is_two_lines_a_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    failures = FailureLog()
    for _ in range(30):
        failures.write_failure(log, "a step failed", away())
        clock.now += 1
        failures.write_answer(log)
        clock.now += 1

    assert len(caplog.text.splitlines()) == 2


def test_an_unexpected_error_is_written_in_full_once_a_minute_with_its_count(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    failures = FailureLog()
    for _ in range(61):
        try:
            raise ValueError("out of order")
        except ValueError as error:
            failures.write_failure(log, "a step failed", error)
        clock.now += 1
    try:
        raise KeyError("another")
    except KeyError as error:
        failures.write_failure(log, "a step failed", error)

    assert caplog.text.count("Traceback") == 3
    assert "59 more times" in caplog.text
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("sqlstate", ["57P01", "57P03", "53300", "53100", "08006", "25006", None])
def test_errors_of_a_database_that_cannot_be_used(sqlstate: str | None) -> None:
    assert is_database_away(away(sqlstate))


def test_the_embedded_database_can_be_away_too() -> None:
    assert is_database_away(DatabaseAway())


@pytest.mark.parametrize("sqlstate", ["55P03", "57014", "40P01"])
def test_a_lock_a_time_limit_and_a_deadlock_are_no_outage(sqlstate: str) -> None:
    assert not is_database_away(away(sqlstate))
    assert not is_database_away(ValueError())
