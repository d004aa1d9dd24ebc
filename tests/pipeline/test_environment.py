"""A DATABASE_URL says where the database is, whatever characters that takes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from django.db import connection
from environ import Env

from tests import make
from tests.conftest import ROOT, url_of

ODD = "/srv/Ünï c+de/a%2Fb, c?d#e:f@g'h/run"


PROGRAM = """
import django, sys
django.setup()
from django.db import connection
from jobs.models import Job
sys.stdout.write(f"{connection.settings_dict['NAME']} {Job.objects.get().id}")
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


@pytest.mark.django_db(transaction=True)
def test_a_process_of_its_own_sees_the_test_database(environment: dict[str, str]) -> None:
    job_id = make.job()

    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout == f"{connection.settings_dict['NAME']} {job_id}"
