"""`manage.py doctor` and the database: each fault is made in a real session or server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Now

from pipeline.management.doctor import database_findings
from pipeline.management.doctor.findings import Finding, Level
from pipeline.models import Heartbeat, WebServer
from pipeline.selectors import database
from pipeline.selectors.database import read_gauges
from tests.database.test_roles import application, role
from tests.management.test_doctor import found, only
from tests.support import factories
from tests.support.waiting import eventually

__all__ = ["application"]
pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def session(**changes: str) -> Iterator[psycopg.Connection[Any]]:
    """Connect to the test database as another program does."""
    given = connection.get_connection_params()
    wanted = {name: given[name] for name in ("dbname", "host", "port", "user") if given.get(name)}
    with psycopg.connect(
        **(wanted | {"application_name": "stuck_report"} | changes)  # type: ignore[arg-type]
    ) as other:
        yield other


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count locks and snapshots from their first moment."""
    monkeypatch.setattr(database_findings, "LOCK_SECONDS", 0.0)
    monkeypatch.setattr(database_findings, "SNAPSHOT_SECONDS", 0.0)


@pytest.mark.usefixtures("_at_once")
def test_an_idle_transaction_that_holds_the_lock_of_a_job_is_named_with_its_process() -> None:
    job = factories.job()
    with session() as holder:
        holder.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])

        level, message, advice = only("transactions")

        assert level == "problem"
        process = holder.info.backend_pid
        assert re.search(
            rf"process {process} of \w+ \(stuck_report, idle in transaction, for \d+ s\)", message
        )
        assert "pg_terminate_backend" in advice
        holder.rollback()
        assert only("transactions")[0] == "ok"


def test_a_lock_that_is_held_for_a_moment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_findings, "LOCK_SECONDS", 300.0)  # a moment of a busy machine
    job = factories.job()
    with session() as holder:
        holder.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])

        assert only("transactions")[0] == "ok"


@pytest.mark.usefixtures("_at_once")
def test_an_old_snapshot_is_named_and_a_reader_without_one_is_not() -> None:
    with session() as reader:
        reader.execute("SELECT count(*) FROM jobs_job")
        eventually(lambda: only("transactions")[0] == "ok")  # an earlier session may still end
        reader.rollback()

        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT count(*) FROM jobs_job")
        level, message, _ = only("transactions")

        process = reader.info.backend_pid

    assert (level, f"process {process} of" in message) == ("warning", True)


@pytest.mark.usefixtures("_at_once")
def test_sessions_of_another_role_are_named_only_if_the_owner_may_see_them(
    application: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = factories.job()
    owner, weak = connection.settings_dict["USER"], f"weak_{role()}"[:63]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {weak}; GRANT CREATE ON SCHEMA public TO {weak}")
        cursor.execute(f"ALTER FUNCTION pipeline_transactions() OWNER TO {weak}")
    connection.close()
    try:
        with session() as holder, monkeypatch.context() as as_if:
            holder.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])
            as_if.setitem(connection.settings_dict, "USER", role())
            hidden = only("transactions")
            holder.execute(f"GRANT pg_read_all_stats TO {weak}")  # type: ignore[arg-type]
            holder.commit()
            holder.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])
            seen, process = only("transactions"), holder.info.backend_pid
            connection.close()
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER FUNCTION pipeline_transactions() OWNER TO {owner}")
            cursor.execute(f"DROP OWNED BY {weak}; DROP ROLE {weak}")

    assert hidden[0] == "warning"
    assert f"process {process} of" in hidden[1]
    assert "GRANT pg_read_all_stats TO" in hidden[2]
    assert (seen[0], "idle in transaction" in seen[1]) == ("problem", True)


def test_a_slot_that_nobody_reads_is_a_warning_and_one_that_fills_the_disk_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert found("slots") == {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_create_physical_replication_slot('of_a_test', true)")
    try:
        idle = only("slots")
        monkeypatch.setattr(database_findings, "RETAINED_BYTES", -1)
        full = only("slots")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_drop_replication_slot('of_a_test')")

    assert idle[0] == "warning"
    assert "The replication slot of_a_test keeps" in idle[1]
    assert "pg_drop_replication_slot" in idle[2]
    assert (full[0], "fills the database's disk" in full[1]) == ("problem", True)


def test_the_archive_that_is_off_is_fine() -> None:
    assert only("WAL archive")[0] == "ok"


@pytest.mark.parametrize(
    ("row", "message"),
    [("9.0, true, '0001', 60", "0001 failed"), ("700.0, false, '', 60", "archived for 700 s")],
)
def test_an_archive_that_fails_or_hangs_is_a_problem(
    row: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_ARCHIVE", f"SELECT {row}")

    level, found_text, _ = only("WAL archive")

    assert (level, message in found_text) == ("problem", True)


def test_a_backup_is_expected_where_a_site_is_deployed(settings: Any) -> None:
    assert only("backup")[0] == "ok"
    settings.EMBEDDED_POSTGRES = None
    unknown = only("backup")
    Heartbeat.objects.create(worker="backup", completed_at=Now() - timedelta(days=1))
    recent = only("backup")
    Heartbeat.objects.update(completed_at=Now() - timedelta(days=3))
    old = only("backup")

    assert (unknown[0], unknown[1]) == ("warning", "No backup has been recorded.")
    assert recent[0] == "ok"
    assert (old[0], "it is 3 days old" in old[1]) == ("problem", True)


def test_a_web_server_that_falls_silent_and_one_of_another_release_are_named() -> None:
    assert only("web servers")[0] == "problem"
    for name, version, seconds in (("a", "2", 5), ("b", "2", 9)):
        WebServer.objects.create(
            name=name, version=version, answered_at=Now() - timedelta(seconds=seconds)
        )
    assert only("web servers")[:2] == ("ok", "Web servers that answer: 2.")

    WebServer.objects.filter(name="a").update(answered_at=Now() - timedelta(seconds=90))
    silent = found("web servers")
    WebServer.objects.filter(name="a").update(answered_at=Now(), version="1")
    mixed = found("web servers")

    assert [level for level, _ in silent.values()] == ["warning", "ok"]
    assert "The web server at a has been silent" in next(iter(silent))
    assert "Web servers of several releases are running: 1, 2." in mixed


def test_a_superuser_as_the_role_of_a_deployed_site_is_a_problem(settings: Any) -> None:
    assert only("roles")[0] == "warning"  # of one machine
    settings.EMBEDDED_POSTGRES = None

    level, message, _ = only("roles")

    assert (level, "can rewrite the log" in message) == ("problem", True)


def test_metrics_have_the_same_numbers(client: Any) -> None:
    job = factories.job()
    with session() as holder:
        holder.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])
        holder.execute("SELECT pg_sleep(0.2)")
        gauges = read_gauges()
        text = client.get("/metrics").content.decode()

    assert gauges.lock_seconds() >= 0.2
    [line] = [x for x in text.splitlines() if x.startswith("nextinline_job_lock_held_seconds ")]
    assert float(line.split()[1]) >= 0.2
    assert "nextinline_database_bytes " in text
    assert "nextinline_replication_slots_inactive 0" in text
    assert "nextinline_backup_age_seconds" not in text
    assert "nextinline_wal_archive_failing" not in text


def test_the_size_of_the_database_says_what_it_does_not_show() -> None:
    [row] = [each for each in database_findings.check_connection() if isinstance(each, Finding)]

    assert row.level is Level.OK
    assert "does not show how much of its disk is free" in row.text
