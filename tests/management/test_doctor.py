"""`manage.py doctor` on the test database: each fault that it can find, and what it advises."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from pipeline.management.doctor import site_findings
from pipeline.models import Heartbeat, WebServer
from tasks.models import TaskType, TaskWorker
from tests.database.test_roles import application, role
from tests.support import factories
from tests.support.clock import let_time_pass

__all__ = ["application"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _emails_and_anchors_in_order(settings: Any, tmp_path: Path) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]  # of one machine: the database is embedded
    settings.DEV_MAIL = True
    settings.ANCHOR_FILE = tmp_path / "anchors.jsonl"
    settings.ANCHOR_KEY_FILE = tmp_path / "anchor_key"


def beats() -> None:
    """Let a web server and a worker of each kind be alive."""
    WebServer.objects.create(name="one", version="1", answered_at=Now())
    Heartbeat.objects.create(worker="decay", completed_at=Now())
    TaskWorker.objects.create(name="one", slots=2, beat_at=Now())


def examine(*options: str) -> tuple[int, list[dict[str, str]]]:
    """Run the command; return its exit code and its findings."""
    said, code = io.StringIO(), 0
    try:
        call_command("doctor", "--json", *options, stdout=said)
    except CommandError as error:
        code = error.returncode
    told = json.loads(said.getvalue())
    assert told["ok"] is (code == 0)
    return code, told["findings"]


def found(check: str, *options: str) -> dict[str, tuple[str, str]]:
    """Return what a check found: level and advice by message."""
    rows = [row for row in examine(*options)[1] if row["check"] == check]
    return {row["message"]: (row["level"], row["advice"]) for row in rows}


def only(check: str, *options: str) -> tuple[str, str, str]:
    """Return level, message and advice of a check's one finding."""
    [(message, (level, advice))] = found(check, *options).items()
    return level, message, advice


def test_an_installation_without_faults_has_no_problem_and_exits_with_0(
    truncate_is_refused: None,
) -> None:
    beats()
    factories.applications(factories.job(), 2)

    code, rows = examine("--skip", "server")  # the tests' server is fast and not durable

    assert [row for row in rows if row["level"] == "problem"] == []
    assert code == 0
    for row in rows:
        assert bool(row["advice"]) is (row["level"] != "ok"), row


def test_people_read_a_line_for_each_check_and_the_advice_below_it() -> None:
    said = io.StringIO()

    with pytest.raises(CommandError, match="problems found"):
        call_command("doctor", stdout=said, no_color=True)

    lines = said.getvalue().splitlines()
    [number] = [n for n, line in enumerate(lines) if "No decay worker was seen" in line]
    assert lines[number].startswith("problem  workers")
    assert lines[number + 1].strip() == "Start manage.py run_decay."


def test_a_check_that_fails_is_a_problem_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> Any:
        raise RuntimeError("of a test")

    monkeypatch.setattr("pipeline.management.doctor.work_findings.site_dead_depth", fail)

    level, message, _ = only("tasks")

    assert (level, message) == ("problem", "The check failed: RuntimeError: of a test")
    assert found("line")


def test_a_skipped_check_says_nothing() -> None:
    beats()

    assert found("workers", "--skip", "workers") == {}
    assert found("workers")


@pytest.mark.parametrize("seconds_ago", [None, 31])
def test_workers_that_have_stopped_are_problems(seconds_ago: int | None) -> None:
    if seconds_ago:
        at = Now() - timedelta(seconds=seconds_ago)
        Heartbeat.objects.create(worker="decay", completed_at=at)
        TaskWorker.objects.create(name="one", slots=2, beat_at=at)

    workers = found("workers")

    assert {level for level, _ in workers.values()} == {"problem"}
    assert {advice for _, advice in workers.values()} == {
        "Start manage.py run_decay.",
        "Start manage.py run_tasks.",
    }
    assert all(("since 20" in message) is bool(seconds_ago) for message in workers)


def test_a_job_that_nobody_settles_is_a_problem() -> None:
    job = factories.job(capacity=1)
    factories.applications(job, 2)
    assert only("line")[0] == "ok"

    Heartbeat.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job SET next_due_at = now() - interval '2 minutes'")

    level, message, advice = only("line")
    assert (level, "1 jobs are due" in message) == ("problem", True)
    assert "decay worker" in advice
    let_time_pass(job, 0)


def test_types_that_are_paused_or_held_back_are_warnings() -> None:
    TaskType.objects.filter(key="log.anchor").update(paused=True)
    TaskType.objects.filter(key="retention.site").update(breaker="OPEN")

    levels = {message: level for message, (level, _) in found("tasks").items()}

    assert set(levels.values()) == {"warning"}
    assert any("paused: log.anchor@1" in message for message in levels)
    assert any("held back: retention.site@1" in message for message in levels)


def test_a_missing_migration_is_named_and_the_tables_are_not_read() -> None:
    applied = MigrationRecorder(connection).migration_qs
    last = applied.filter(app="pipeline").latest("name")
    applied.filter(pk=last.pk).delete()
    try:
        code, rows = examine()
    finally:
        applied.create(app=last.app, name=last.name, applied=last.applied)

    [row] = [row for row in rows if row["check"] == "migrations"]
    assert (code, row["level"], row["advice"]) == (1, "problem", "Run manage.py migrate.")
    assert row["message"] == f"Migrations are missing: pipeline.{last.name}."
    assert not {"workers", "roles", "line"} & {row["check"] for row in rows}


def test_a_migration_of_a_newer_release_is_a_warning() -> None:
    applied = MigrationRecorder(connection).migration_qs
    newer = applied.create(app="pipeline", name="9999_tomorrow", applied="2026-01-01T00:00:00Z")
    try:
        level, message, _ = only("migrations")
    finally:
        newer.delete()

    assert (level, "pipeline.9999_tomorrow" in message) == ("warning", True)


def test_a_role_that_could_rewrite_the_log_is_a_warning() -> None:
    level, message, advice = only("roles")

    assert (level, "can rewrite the log" in message) == ("warning", True)
    assert "MIGRATION_DATABASE_URL" in advice


def test_the_role_that_migrate_makes_is_fine_and_one_that_lost_a_right_is_not(
    application: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    with monkeypatch.context() as as_if:
        as_if.setitem(connection.settings_dict, "USER", role())
        good = only("roles")
        connection.close()
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE UPDATE ON jobs_job, pipeline_application FROM {role()}")
    connection.close()
    with monkeypatch.context() as as_if:
        as_if.setitem(connection.settings_dict, "USER", role())
        bad = only("roles")
        connection.close()

    assert good[0] == "ok"
    assert bad[:2] == (
        "problem",
        "The site's role lacks rights on jobs_job, pipeline_application.",
    )


def test_tables_of_two_owners_and_a_wrong_owner_are_problems(settings: Any) -> None:
    owner = connection.settings_dict["USER"]
    settings.MIGRATION_DATABASE = {"USER": "somebody_else"}
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role()}; ALTER TABLE pipeline_throttle OWNER TO {role()}")
    try:
        messages = list(found("roles"))
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE pipeline_throttle OWNER TO {owner}; DROP ROLE {role()}")

    assert (
        f"The tables belong to several roles: {owner}, {role()}. Migrations will fail." in messages
    )
    assert any("names somebody_else, but" in message for message in messages)


def test_a_trigger_of_the_log_that_is_off_is_a_problem() -> None:
    level, message, advice = only("log")  # the tests switch one off: see tests/conftest.py

    assert (level, message.endswith("switched off: no_truncate.")) == ("problem", True)
    assert "pgtrigger enable" in advice


def test_triggers_that_are_on_are_fine(truncate_is_refused: None) -> None:
    assert only("log")[0] == "ok"


def test_settings_of_a_server_that_can_lose_data_are_a_problem() -> None:
    levels = {message: level for message, (level, _) in found("server").items()}

    # The tests' cluster is fast and not durable: pipeline/settings.py.
    assert any("lose committed data: fsync" in m and levels[m] == "problem" for m in levels)


def test_a_pooler_that_drops_settings_is_a_warning() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
    try:
        levels = {message: level for message, (level, _) in found("server").items()}
    finally:
        connection.close()

    assert levels["A pooler has dropped settings of the connection: lock_timeout."] == "warning"


@pytest.mark.parametrize(
    ("address", "server", "level"),
    [("", "", "ok"), ("jobs+{}@x.example", "", "warning"), ("jobs+{}@x.example", "mx", "ok")],
)
def test_answers_by_email_without_a_server_that_proves_them_are_a_warning(
    settings: Any, address: str, server: str, level: str
) -> None:
    settings.REPLY_ADDRESS, settings.INCOMING_AUTHSERV_ID = address, server

    [finding] = site_findings.check_answers()

    assert finding.level == level
    assert ("Set INCOMING_AUTHSERV_ID" in finding.advice) == (level == "warning")
