"""What the tools check: layers, migrations, style and types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.house.files import run_tool

TOOLS = Path(sys.executable).parent


def test_calls_only_go_down() -> None:
    run_tool(str(TOOLS / "lint-imports"), "--no-cache")


def test_style_is_kept() -> None:
    run_tool(str(TOOLS / "ruff"), "check", "--no-cache", ".")


def test_format_is_kept() -> None:
    run_tool(str(TOOLS / "ruff"), "format", "--check", "--no-cache", ".")


@pytest.mark.slow
def test_types_hold() -> None:
    run_tool(str(TOOLS / "mypy"))


@pytest.mark.django_db
def test_the_models_and_the_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_the_triggers_are_installed_as_the_models_say(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("pgtrigger", "ls")

    told = capsys.readouterr().out
    for name in ("append_only", "no_truncate"):
        [line] = [line for line in told.splitlines() if name in line]
        assert "INSTALLED" in line
