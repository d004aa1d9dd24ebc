"""Commands and servers end with one sentence if their database refuses them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.database.test_roles import application, role
from tests.support.environment import ROOT, process_environment, url_of
from tests.support.smtp import free_port

__all__ = ["application"]
pytestmark = pytest.mark.django_db(transaction=True)


def said_by(*command: str, **environment: str) -> str:
    """Run a command that fails, and return what it says; its logs are left out."""
    run = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=process_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Traceback" not in run.stderr, run.stderr
    return "".join(line for line in run.stderr.splitlines() if not line.startswith("{"))


MANAGE, DJANGO = ("manage.py",), ("-m", "django")


def address(**changes: str) -> str:
    return url_of(connection.settings_dict | changes)


@pytest.mark.parametrize(
    ("start", "command"),
    [
        (DJANGO, "migrate"),
        (MANAGE, "migrate"),
        (MANAGE, "restart_feed"),
        (MANAGE, "verify_log"),
        (MANAGE, "create_company X --owner a@example.org"),
    ],
)
def test_a_role_that_does_not_exist_yet_leads_to_migrate(
    start: tuple[str, ...], command: str
) -> None:
    said = said_by(*start, *command.split(), DATABASE_URL=address(USER="nobody_yet"))

    assert 'role "nobody_yet" does not exist' in said
    assert "Run manage.py migrate with MIGRATION_DATABASE_URL" in said


def test_the_address_that_failed_is_named() -> None:
    gone = f"postgres://nobody@127.0.0.1:{free_port()}/none"

    owner = said_by("manage.py", "migrate", MIGRATION_DATABASE_URL=gone)
    site = said_by("manage.py", "verify_log", DATABASE_URL=gone)
    direct = said_by("manage.py", "verify_log", DATABASE_DIRECT_URL=gone)
    unknown = said_by("manage.py", "verify_log", DATABASE_URL=address(NAME="unknown"))

    assert owner.endswith("Start PostgreSQL, or correct MIGRATION_DATABASE_URL.")
    assert site.endswith("Start PostgreSQL, or correct DATABASE_URL.")
    assert direct.endswith("Start PostgreSQL, or correct DATABASE_DIRECT_URL.")
    assert unknown.endswith("Create the database, or correct DATABASE_URL.")


def test_a_command_without_the_right_says_which_address_it_needs(
    application: psycopg.Connection[Any],
) -> None:
    said = said_by("manage.py", "restart_feed", DATABASE_URL=address(USER=role()))

    assert "permission denied for table pipeline_event" in said
    assert said.endswith("Set MIGRATION_DATABASE_URL to the owner's address.")


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import django; django.setup(); 1 / 0"],
        cwd=ROOT,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert "ZeroDivisionError" in run.stderr
    assert "Traceback" in run.stderr
