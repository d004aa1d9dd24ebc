"""`manage.py doctor` as a process: no database, a wrong clock, and a site at an address."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from pipeline.management.doctor import address_findings
from pipeline.management.doctor.address_findings import FORGED_ADDRESS, ProbeAnswer, check_proxies
from pipeline.management.doctor.findings import Level
from tests.support.commands import commands
from tests.support.environment import ROOT, process_environment, url_of
from tests.support.server import serving
from tests.support.smtp import free_port
from tests.support.wrong_clock import wrong_clock

pytestmark = pytest.mark.django_db(transaction=True)


def doctor(environment: dict[str, str], *options: str) -> tuple[int, dict[str, list[Any]]]:
    """Run the command; return its exit code and, by check, level and message of each finding."""
    run = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json", *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout, run.stderr
    checks: dict[str, list[Any]] = {}
    for row in json.loads(run.stdout)["findings"]:
        checks.setdefault(row["check"], []).append((row["level"], row["message"]))
    return run.returncode, checks


def test_a_database_that_is_away_is_the_problem_and_the_rest_is_still_checked() -> None:
    gone = f"postgres://nobody@127.0.0.1:{free_port()}/none"

    code, checks = doctor(process_environment(DATABASE_URL=gone))

    [(level, message)] = checks["database"]
    assert (code, level) == (1, "problem")
    assert "cannot be reached" in message
    assert {"disk", "secrets", "email"} <= set(checks)
    assert not {"workers", "clock", "migrations"} & set(checks)


@pytest.mark.parametrize(("seconds", "level"), [(0, "ok"), (-10, "warning"), (3_600, "problem")])
def test_a_clock_that_is_off_is_noticed(tmp_path: Path, seconds: int, level: str) -> None:
    _, checks = doctor(process_environment(**wrong_clock(seconds, tmp_path)))

    [(found, message)] = checks["clock"]
    assert found == level, message
    assert ("ahead" in message, "behind" in message) == (seconds > 0, seconds < 0)


def test_the_site_says_how_it_sees_a_signed_request_and_only_that(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with serving(environment, tmp_path / "web.log", workers=1) as url:
        same = environment | {"SITE_URL": url}
        _, good = doctor(same, "--url", url)
        _, elsewhere = doctor(environment | {"SITE_URL": "https://jobs.example.org"}, "--url", url)
        _, other_key = doctor(
            same | {"SECRET_KEY": "another-0123456789-abcdefghijklmnop"}, "--url", url
        )
        _, wrong = doctor(same, "--url", f"https{url[4:]}")

    assert ("ok", "The site sees http and this machine's address, 127.0.0.1.") in good["address"]
    assert any("SITE_URL is https://jobs" in message for _, message in elsewhere["address"])
    assert any("signature" in message for _, message in other_key["address"])
    assert any("TLS fails" in message for _, message in wrong["address"])


def test_the_command_of_the_operations_page_runs_as_it_stands(
    environment: dict[str, str], tmp_path: Path
) -> None:
    mine = environment | {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    with serving(mine, tmp_path / "web.log", workers=1) as url:
        command = commands("doctor", address=url, email="ops@example.org")
        run = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=ROOT,
            env=mine | {"SITE_URL": url},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run.returncode == 1  # no worker runs, and no email leaves
    assert "problems found" in run.stderr
    assert "ok       address        The site sees http" in run.stdout
    assert "problem  workers" in run.stdout


def test_an_address_that_does_not_answer_is_a_problem(environment: dict[str, str]) -> None:
    _, checks = doctor(environment, "--url", f"http://127.0.0.1:{free_port()}")
    _, nonsense = doctor(environment, "--url", "jobs.example.org")

    assert any("does not answer" in message for _, message in checks["address"])
    assert any("is not an address" in message for _, message in nonsense["address"])


def seen_as(settings: Any, scheme: str, address: str, *proxies: str) -> tuple[Level, str]:
    """Return the first finding if the site sees this scheme and address; ours is 198.51.100.7."""
    from ipaddress import ip_network

    settings.TRUSTED_PROXIES = [ip_network(each) for each in proxies]
    answer = ProbeAnswer(200, {}, {}, "198.51.100.7")
    parts = address_findings.urlsplit("https://jobs.example.org")
    finding = next(check_proxies(parts, answer, {"scheme": scheme, "address": address}))
    return finding.level, finding.text


def test_what_proxies_do_to_a_request_is_judged(settings: Any) -> None:
    right = seen_as(settings, "https", "198.51.100.7", "10.0.0.0/8")
    plain = seen_as(settings, "http", "10.0.0.2")
    shared = seen_as(settings, "https", "10.0.0.2", "10.0.0.0/8")
    forged = seen_as(settings, "https", FORGED_ADDRESS, "0.0.0.0/0")
    perhaps = seen_as(settings, "https", "10.0.0.2")

    assert right[0] is Level.OK
    assert (plain[0], "over http" in plain[1]) == (Level.PROBLEM, True)
    assert (shared[0], "share one rate limit" in shared[1]) == (Level.PROBLEM, True)
    assert (forged[0], "can choose the address" in forged[1]) == (Level.PROBLEM, True)
    assert perhaps[0] is Level.WARNING


def test_before_anything_is_migrated_the_answer_is_to_migrate() -> None:
    name = f"{connection.settings_dict['NAME']}_empty"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        empty = url_of(connection.settings_dict | {"NAME": name})
        unknown = url_of(connection.settings_dict | {"USER": "nobody_yet"})
        of_tables = advice_of_doctor(process_environment(DATABASE_URL=empty))
        of_role = advice_of_doctor(process_environment(DATABASE_URL=unknown))
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")

    assert "Run manage.py migrate." in of_tables["migrations"]
    assert of_role["database"].startswith("Run manage.py migrate with MIGRATION_DATABASE_URL")


def advice_of_doctor(environment: dict[str, str]) -> dict[str, str]:
    """Return the advice of each check."""
    run = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return {row["check"]: row["advice"] for row in json.loads(run.stdout)["findings"]}
