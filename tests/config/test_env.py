"""Settings from the environment: their effect, and the refusal of invalid values."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from environ import Env

from pipeline import settings as settings_module
from pipeline.config import env
from tests.support import factories
from tests.support.environment import ROOT, url_of

ODD = "/srv/Ünï c+de/a%2Fb, c?d#e:f@g'h/run"


PROGRAM = """
import django, sys
django.setup()
from django.db import connection
from jobs.models import Job
database = connection.settings_dict
sys.stdout.write(f"{database['ENGINE']} {database['NAME']} {Job.objects.get().id}")
"""


@pytest.mark.parametrize(
    "database",
    [
        {"HOST": ODD, "NAME": "test_line", "USER": "postgres", "PASSWORD": "", "PORT": ""},
        {"HOST": "/tmp/x", "NAME": "x y", "USER": "a@b", "PASSWORD": "p:/?#w", "PORT": ""},  # noqa: S108
        {"HOST": "db.example.org", "NAME": "line", "USER": "u", "PASSWORD": "p", "PORT": 5433},
    ],
)
def test_a_url_gives_back_the_database_it_was_made_of(database: dict[str, Any]) -> None:
    parsed = Env.db_url_config(url_of(database))

    assert {name: parsed[name] for name in database} == database


def test_the_directory_of_a_socket_may_be_written_as_libpq_does() -> None:
    found = env.parse_database_url("DATABASE_URL", "postgres://u:p@%2FVar%2Frun%2fpostgresql/line")

    assert (found["HOST"], found["NAME"]) == ("/Var/run/postgresql", "line")
    assert (found["USER"], found["PASSWORD"], found["PORT"]) == ("u", "p", "")


@pytest.mark.django_db(transaction=True)
def test_a_process_of_its_own_sees_the_test_database(environment: dict[str, str]) -> None:
    job_id = factories.job()

    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout == f"pipeline.database {connection.settings_dict['NAME']} {job_id}"


def test_options_of_the_url_come_after_ours_and_drop_none() -> None:
    config = settings_module._databases(
        OPTIONS={"options": "-c work_mem=64MB", "sslmode": "require"}
    )

    assert config["OPTIONS"]["options"].startswith("-c application_name=next-in-line:")
    assert config["OPTIONS"]["options"].endswith("=force_generic_plan -c work_mem=64MB")
    assert config["OPTIONS"]["sslmode"] == "require"


def test_a_network_that_swallows_everything_is_noticed_unless_the_address_says_otherwise() -> None:
    assert settings_module._databases()["OPTIONS"]["tcp_user_timeout"] == 10_000
    given = settings_module._databases(OPTIONS={"tcp_user_timeout": 1})
    assert given["OPTIONS"]["tcp_user_timeout"] == 1


def test_database_and_pooler_notice_a_vanished_web_server_as_soon_as_it_notices_them() -> None:
    options = settings_module._databases()["OPTIONS"]
    ours = {name: options[name] for name in settings_module._NETWORK}
    postgres = dict(re.findall(r"-c (tcp_\w+)=(\d+)", options["options"]))
    pooler = (ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini").read_text()

    assert {name.removeprefix("tcp_"): int(value) for name, value in postgres.items()} == {
        name.removeprefix("tcp_"): value for name, value in ours.items()
    }
    assert dict(re.findall(r"^(tcp_\w+) = (\d+)", pooler, re.M)) == {
        "tcp_keepidle": str(ours["keepalives_idle"]),
        "tcp_keepintvl": str(ours["keepalives_interval"]),
        "tcp_keepcnt": str(ours["keepalives_count"]),
        "tcp_user_timeout": str(ours["tcp_user_timeout"]),
    }


@pytest.mark.parametrize(
    ("text", "networks"),
    [("", []), ("10.0.0.1/8, fd00::1", [ip_network("10.0.0.0/8"), ip_network("fd00::1")])],
)
def test_trusted_proxies_are_networks(
    monkeypatch: pytest.MonkeyPatch, text: str, networks: list[Any]
) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", text)

    assert env.trusted_proxies() == networks


def test_a_proxy_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.0/8,proxy.local")

    with pytest.raises(ImproperlyConfigured, match=r"TRUSTED_PROXIES.*'proxy\.local'"):
        env.trusted_proxies()


KEY = "of-a-test-0123456789-abcdefghijkl"
NOWHERE = "postgres://user:secret@127.0.0.1:1/line"


@pytest.mark.faults
@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("SECRET_KEY", {"SECRET_KEY": ""}),
        ("SECRET_KEY", {"SECRET_KEY": "x"}),
        ("SECRET_KEY", {"SECRET_KEY": "x" * 50}),
        ("SECRET_KEY", {"SECRET_KEY": KEY[:31]}),
        ("SECRET_KEY_FALLBACKS", {"SECRET_KEY_FALLBACKS": f"{KEY}, old"}),
        ("DEBUG", {"DEBUG": "on"}),
        ("THROTTLE_API", {"THROTTLE_API": "many"}),
        ("TRUSTED_PROXIES", {"TRUSTED_PROXIES": "10.0.0"}),
        ("LOG_LEVEL", {"LOG_LEVEL": "loud"}),
        ("LOG_FORMAT", {"LOG_FORMAT": "xml"}),
        ("DEFAULT_LANGUAGE must be one of en, de", {"DEFAULT_LANGUAGE": "xx"}),
        ("DATABASE_URL", {"DATABASE_URL": "mysql://user:secret@host/line"}),
        ("DATABASE_URL", {"DATABASE_URL": "postgres://user:secret@host:port/line"}),
        ("DATABASE_DIRECT_URL", {"DATABASE_DIRECT_URL": "mysql://user:secret@host/line"}),
        ("DATABASE_DIRECT_URL", {"DATABASE_DIRECT_URL": NOWHERE, "DATABASE_URL": ""}),
        ("database", {}),
    ],
)
def test_up_that_cannot_start_says_why_in_one_sentence(
    name: str, variables: dict[str, str]
) -> None:
    usual = {"SECRET_KEY": KEY, "DATABASE_URL": NOWHERE, "EMAIL_URL": "consolemail://"}

    run = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", "8917"],
        env={"PATH": os.environ["PATH"], **usual, **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert name in run.stderr.strip()
    assert len(run.stderr.strip().splitlines()) == 1
    assert "secret" not in run.stderr


@pytest.mark.faults
@pytest.mark.parametrize(
    ("variables", "backend"),
    [
        ({"EMAIL_URL": "smtp://mail.example.org"}, "django.core.mail.backends.smtp.EmailBackend"),
        ({"EMAIL_BACKEND": "anymail.backends.postmark.EmailBackend"}, "anymail.backends.postmark."),
        (
            {"EMAIL_BACKEND": "my.Backend", "EMAIL_URL": "smtp://mail.example.org"},
            "my.Backend mail.example.org",
        ),
        ({}, "pipeline.mail.dev_mailbox.DevMailboxBackend"),
    ],
)
def test_the_email_backend_is_the_one_that_is_named(
    variables: dict[str, str], backend: str
) -> None:
    program = (
        "from pipeline.config.env import mail_settings as found;"
        "print(found()['EMAIL_BACKEND'], found().get('EMAIL_HOST'))"
    )

    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.startswith(backend)
