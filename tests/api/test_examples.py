"""`docs/examples/verify_log.py`: it proves a log from the API alone, and finds what was changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection, transaction

from jobs.models import Company
from tests.support import factories
from tests.support.callers import key_of
from tests.support.environment import ROOT
from tests.support.server import serving

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLE = ROOT / "docs" / "examples" / "verify_log.py"
Verify = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def verify(environment: dict[str, str], tmp_path: Path, company: Company) -> Iterator[Verify]:
    """Run the example against a running server."""
    with serving(environment, tmp_path / "server.log") as address:

        def run(*arguments: object) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [
                    sys.executable,
                    ROOT / "docs" / "examples" / "verify_log.py",
                    *map(str, arguments),
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "API_URL": f"{address}/api/v1",
                    "API_KEY": str(key_of(company.id).token),
                },
                capture_output=True,
                text=True,
                check=False,
            )

        yield run


def long_log(company: Company) -> UUID:
    """A job with more events than fit on a page of the API."""
    job = factories.job(company_id=company.id, capacity=2)
    for person in factories.applications(job, 105):
        key_of(company.id).post(f"/applications/{person.id}/remove", {"outcome": "REMOVED"})
    return job


def change_the_log(statement: str, *values: object) -> None:
    """Do what only the owner of the tables can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)


def test_the_example_proves_a_log_and_what_was_noted(verify: Verify, company: Company) -> None:
    job = long_log(company)
    events = factories.events(job)
    head, noted = events[-1], events[100]

    assert len(events) > 200
    assert verify(job).stdout == f"ok {head.seq} {bytes(head.hash).hex()}\n"
    assert verify(job, noted.seq, bytes(noted.hash).hex()).returncode == 0
    for seq, digest in ((noted.seq, "0" * 64), (head.seq + 1, "0" * 64)):
        wrong = verify(job, seq, digest)
        assert (wrong.returncode, wrong.stdout) == (1, f"broken at {seq}\n")


def test_the_example_finds_a_changed_and_a_removed_row(verify: Verify, company: Company) -> None:
    changed, cut = (factories.job(company_id=company.id, capacity=1) for _ in range(2))
    for job in (changed, cut):
        factories.applications(job, 4)
    edit = "UPDATE pipeline_event SET outcome = 'HIRED' WHERE seq = 4 AND job_id = %s"
    change_the_log(edit, changed)
    change_the_log("DELETE FROM pipeline_event WHERE seq = 5 AND job_id = %s", cut)

    assert [verify(job).stdout for job in (changed, cut)] == ["broken at 4\n", "broken at 5\n"]
