"""Migrations after the released ones run while the released code still works on the tables.

An operation that breaks or blocks it goes into two releases: docs/operations.md, "Upgrade".
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django_migration_linter.sql_analyser import analyse_sql_statements
from django_migration_linter.sql_analyser.postgresql import PostgresqlAnalyser

from tests.support.environment import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

# The last migration of each package that a release has. Only a release changes it.
RELEASED = {
    "applicants": "0005_emails",
    "jobs": "0009_emails",
    "pipeline": "0014_signs_of_life",
    "tasks": "0005_owners",
}
# Newer migrations that are safe although an operation looks unsafe, each with the reason.
REVIEWED = {
    ("jobs", "0010_scope_of_portals"): "lengthens a text, in a table with a row per API key",
    ("jobs", "0011_sandbox"): "lengthens a text, in a table with a row per API key",
    ("pipeline", "0041_forms"): "builds indexes of tables that it makes, so empty ones",
    ("pipeline", "0060_provisioning"): "builds indexes of tables that it makes, so empty ones",
    ("pipeline", "0029_job_templates"): "builds an index of a table that it makes, so an empty one",
}
# Newer migrations for which the site has to stop. The changelog says so to operators.
NEED_A_STOP = {
    (
        "pipeline",
        "0015_reinstated",
    ): "builds an index on the log; older code writes no seq of notes",
    ("pipeline", "0020_references"): "builds two indexes on the applications",
    (
        "pipeline",
        "0030_deferred",
    ): "builds indexes on log and applications; older code passes nobody over",
    ("pipeline", "0034_contests"): "builds an index on the log anew",
}


def faults(migration: Any, state: ProjectState) -> list[str]:
    """Return what in a migration breaks or blocks the code of the release before it."""
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state.clone(), editor, collect_sql=True)
    said = [text for text in editor.collected_sql if not text.startswith("--")]
    if migration.atomic:
        said = ["BEGIN;", *said, "COMMIT;"]
    errors, _, warnings = analyse_sql_statements(PostgresqlAnalyser, said)
    # Each change of a large table takes longer than other transactions may wait for a lock.
    return sorted({issue.code for issue in [*errors, *warnings]})


def new_migrations(loader: MigrationLoader) -> list[tuple[str, str]]:
    """Return our migrations that no release has."""
    return sorted(
        (app, name)
        for app, name in loader.disk_migrations
        if app in RELEASED and name > RELEASED[app]
    )


@pytest.mark.slow
def test_no_new_migration_breaks_or_blocks_the_code_before_it() -> None:
    loader = MigrationLoader(connection)
    found = {}
    for key in new_migrations(loader):
        state = loader.project_state(key, at_end=False)
        if said := faults(loader.disk_migrations[key], state):
            found[key] = said

    expected = REVIEWED.keys() | NEED_A_STOP.keys()
    assert {key: said for key, said in found.items() if key not in expected} == {}
    assert expected <= found.keys()


def test_operators_read_for_which_migrations_the_site_has_to_stop() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()

    for app, name in NEED_A_STOP:
        assert f"`{app}.{name}`" in changes


def test_the_released_migrations_are_all_there() -> None:
    loader = MigrationLoader(connection)

    assert set(RELEASED.items()) <= set(loader.disk_migrations)


def test_migrations_wait_only_briefly_for_a_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("3s",)


@cache
def current_state() -> ProjectState:
    """Return the models after all migrations; `faults` works on a copy."""
    return MigrationLoader(connection).project_state()


NOTE = models.CharField(max_length=10)
NULLABLE = models.CharField(max_length=10, null=True)
DEFAULTED = models.CharField(max_length=10, db_default="")
INDEX = models.Index(fields=["completed_at"], name="of_a_test")


@pytest.mark.parametrize(
    ("operation", "codes"),
    [
        (migrations.AddField("Heartbeat", "note", NOTE), {"NOT_NULL"}),
        (migrations.RemoveField("Heartbeat", "silent_since"), {"DROP_COLUMN"}),
        (
            migrations.RenameField("Heartbeat", "silent_since", "quiet_since"),
            {"RENAME_COLUMN"},
        ),
        (migrations.RenameModel("Heartbeat", "Beat"), {"RENAME_TABLE"}),
        (migrations.DeleteModel("Heartbeat"), {"DROP_TABLE"}),
        (
            migrations.AlterField("Heartbeat", "silent_since", models.DateField(null=True)),
            {"ALTER_COLUMN"},
        ),
        (migrations.AddIndex("Heartbeat", INDEX), {"CREATE_INDEX"}),
        (migrations.AddField("Heartbeat", "note", NULLABLE), set()),
        (migrations.AddField("Heartbeat", "note", DEFAULTED), set()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unsafe_operations_are_noticed_and_safe_ones_are_not(
    operation: Any, codes: set[str]
) -> None:
    migration = migrations.Migration("9999_of_a_test", "pipeline")
    migration.operations = [operation]

    assert set(faults(migration, current_state())) == codes
