"""Demo types, which are available only where the site has enabled them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.work.catalog import catalogued_company_types
from tasks.models import Task
from tests.support.callers import Caller, code_of
from tests.support.environment import ROOT, process_environment
from tests.support.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def switched_off(settings: Any) -> None:
    settings.DEMO_TASKS = False


@pytest.mark.usefixtures("switched_off")
def test_the_api_refuses_them_and_says_why(acme: Caller) -> None:
    answer = acme.post("/tasks", {"type": "demo.sleep"})

    assert code_of(answer) == (400, "UNKNOWN_TASK_TYPE")
    assert "switched off on this site (DEMO_TASKS=off)" in answer.json()["detail"]
    assert Task.objects.count() == 0
    offered = [each["key"] for each in acme.get("/task-types").json()["data"]]
    assert "demo.sleep" not in offered
    assert "log.export" in offered


@pytest.mark.usefixtures("switched_off")
def test_pages_do_not_offer_them(recruiter: Client, company: Company) -> None:
    assert "Test tasks are switched off on this site" in page_of(recruiter, "/company/work/")
    assert "demo.sleep" not in page_of(recruiter, "/company/work/types/")
    sent = {"company_id": str(company.id), "seconds": "1", "then": ""}
    refused = recruiter.post("/company/work/", sent)
    assert refused.status_code == 422
    assert "switched off on this site" in refused.content.decode()


def test_where_they_are_on_they_are_offered(acme: Caller, recruiter: Client) -> None:
    assert acme.post("/tasks", {"type": "demo.sleep"}).status_code == 201
    assert "demo.sleep" in [each.key for each in catalogued_company_types()]
    assert "Start a test task" in page_of(recruiter, "/company/work/")


KNOWN = """
import django, sys
django.setup()
from tasks import registry
sys.stdout.write(" ".join(spec.key for spec in registry.registered_types()))
"""


@pytest.mark.parametrize(("value", "known"), [("", False), ("off", False), ("on", True)])
def test_with_a_database_given_no_process_knows_them_unless_told_to(
    value: str, *, known: bool
) -> None:
    environment = process_environment(DEMO_TASKS=value)

    said = subprocess.run(
        [sys.executable, "-c", KNOWN],
        env=environment | {"PATH": os.environ["PATH"]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert ("demo.sleep" in said.split()) is known
    assert "log.export" in said.split()
