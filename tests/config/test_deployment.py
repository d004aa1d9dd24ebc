"""`manage.py check --deploy`: clean for a site as documented, and not for one by accident."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.environment import ROOT, process_environment

PUBLIC = {
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "ALLOWED_HOSTS": "jobs.example.org",
    "SITE_URL": "https://jobs.example.org",
    "TRUSTED_PROXIES": "10.0.0.0/8",
    "EMAIL_URL": "smtp+tls://user:password@mail.example.org:587",
}

pytestmark = pytest.mark.django_db


def check(*arguments: str, **variables: str) -> tuple[int, str]:
    """Return the output of the checks for a site with these settings."""
    run = subprocess.run(
        [sys.executable, "manage.py", "check", "--fail-level", "WARNING", *arguments],
        env=process_environment(**variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


def test_a_site_as_documented_passes_the_checks_for_deployment() -> None:
    code, said = check("--deploy", **PUBLIC)

    assert (code, "no issues" in said) == (0, True), said


def test_a_forgotten_database_fails_them_and_is_warned_about_at_every_start() -> None:
    forgotten = PUBLIC | {"DATABASE_URL": "", "EMAIL_URL": ""}

    deployed, said = check("--deploy", **forgotten)
    started, warned = check(**forgotten)

    assert deployed == 1
    assert all(name in said for name in ("pipeline.E001", "pipeline.E002", "pipeline.W001"))
    assert started == 1
    assert "DATABASE_URL is not set" in warned


def test_on_one_machine_nothing_is_warned_about() -> None:
    code, said = check(DATABASE_URL="", ALLOWED_HOSTS="", SITE_URL="")

    assert code == 0, said
