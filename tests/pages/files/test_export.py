"""Files to take away: whole, safe to open, and enough to prove the log elsewhere."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.domain.states import Outcome, Reason
from pipeline.files.exports import undo_defused_csv_text
from pipeline.models import DecisionNote
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.environment import ROOT
from tests.support.history import History, page


def body_of(client: Client, job: UUID, name: str) -> str:
    return b"".join(client.get(page(job, f"export/{name}"))).decode()


def lines_of(client: Client, job: UUID, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body_of(client, job, name).splitlines()]


def first_row(raw: str) -> dict[str, str]:
    return next(csv.DictReader(io.StringIO(raw.removeprefix("\ufeff"), newline="")))


def test_the_files_have_good_names_and_types(viewer: Client, past: History) -> None:
    response = viewer.get(page(past.job, "export/log.jsonl"))

    assert re.fullmatch(
        r'attachment; filename="engineer-log-\d{4}-\d\d-\d\d-\d{4}\.jsonl"',
        response["Content-Disposition"],
    )
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    assert "no-store" in response["Cache-Control"]
    assert viewer.get(page(past.job, "export/log.xlsx")).status_code == 404
    assert viewer.get(page(past.job, "export/people.csv")).status_code == 404


def test_a_spreadsheet_knows_that_a_file_for_people_is_in_utf_8(
    viewer: Client, past: History
) -> None:
    starts = {
        name: body_of(viewer, past.job, name)[:1]
        for name in ("applications.csv", "applications.jsonl", "log.csv", "log.jsonl")
    }

    assert starts == {
        "applications.csv": "\ufeff",
        "applications.jsonl": "{",
        "log.csv": "s",
        "log.jsonl": "{",
    }


def test_the_log_is_whole_in_both_forms(viewer: Client, past: History) -> None:
    told = lines_of(viewer, past.job, "log.jsonl")
    rows = list(csv.DictReader(io.StringIO(body_of(viewer, past.job, "log.csv"), newline="")))

    assert [line["seq"] for line in told] == list(range(1, 11))
    assert [int(row["seq"]) for row in rows] == list(range(1, 11))
    assert [row["hash"] for row in rows] == [line["hash"] for line in told]
    assert [json.loads(row["data"]) for row in rows] == [line["data"] for line in told]
    assert told[-1]["hash"] == bytes(factories.row_of(past.job).chain_head).hex()


def test_the_program_of_the_documentation_proves_an_exported_log(
    viewer: Client, past: History, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    program = re.search(r"```python\n(.+?)```", text, re.S)
    assert program
    log = tmp_path / "log.jsonl"
    exported = body_of(viewer, past.job, "log.jsonl")

    def run(content: str) -> tuple[int, str]:
        log.write_text(content)
        done = subprocess.run(
            [sys.executable, "-c", program.group(1), str(log)],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    assert run(exported) == (0, f"10 {bytes(factories.row_of(past.job).chain_head).hex()}\n")
    assert run(exported.replace('"places":1', '"places":2'))[0] == 1
    assert run("".join(exported.splitlines(keepends=True)[1:]))[0] == 1


def test_applications_stand_there_as_they_are(viewer: Client, past: History) -> None:
    DecisionNote.objects.create(application=past.ana, seq=6, text="left\nby herself")

    ana, bo, cy = lines_of(viewer, past.job, "applications.jsonl")

    assert (ana["name"], ana["outcome"], ana["position"]) == ("Ana Li", "WITHDRAWN", None)
    assert (bo["status"], bo["position"], bo["misses"]) == ("WAITLIST", 1, 1)
    assert (cy["status"], cy["email"]) == ("ACTIVE", factories.fresh(past.cy).applicant.email)
    assert ana["decision_note"] == "left\nby herself"
    raw = body_of(viewer, past.job, "applications.csv")
    assert raw.count("\r\n") == 4
    assert first_row(raw)["decision_note"].startswith("left")


def test_a_decision_stands_there_with_its_reason_and_its_rules(
    viewer: Client, past: History
) -> None:
    factories.alter(past.job, policy={"penalty_places": 3})
    remove(
        application_id=past.cy.id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        reason=Reason.NOT_A_MATCH,
    )

    ana, _, cy = lines_of(viewer, past.job, "applications.jsonl")

    assert (ana["reason"], ana["policy_version"]) == (None, 1)
    assert (cy["reason"], cy["policy_version"]) == ("NOT_A_MATCH", 2)


@pytest.mark.parametrize(
    "name",
    [
        '=HYPERLINK("http://x","y")',
        "+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "  =1",
        '"=1',
        "\uff1d1+1",
        "\uff0b1",
        "\uff0d1",
        "\uff20SUM(A1)",
    ],
)
def test_no_cell_is_a_formula(viewer: Client, company: Company, name: str) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job, factories.applicant(name=name))

    raw = body_of(viewer, job, "applications.csv")

    cell = first_row(raw)["name"]
    assert cell.lstrip()[0] not in "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
    assert undo_defused_csv_text(cell) == name
    assert lines_of(viewer, job, "applications.jsonl")[0]["name"] == name


def test_an_export_is_of_one_instant(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)
    factories.applications(job, 3)
    log = iter(viewer.get(page(job, "export/log.jsonl")))
    people = iter(viewer.get(page(job, "export/applications.jsonl")))

    first = next(log), next(people)
    factories.applications(job, 2)

    assert (first[0] + b"".join(log)).count(b"\n") == 5
    assert (first[1] + b"".join(people)).count(b"\n") == 3


def most_memory() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.jsonl", "applications.csv"])
def test_fifty_thousand_rows_take_little_memory_and_begin_early(
    viewer: Client, company: Company, name: str
) -> None:
    few, many = factories.job(company_id=company.id), factories.job(company_id=company.id)
    crowd(few, 5_000)
    body_of(viewer, few, name)
    crowd(many, 50_000)
    before = most_memory()

    pieces = iter(viewer.get(page(many, f"export/{name}")))
    first = next(pieces)
    lines = first.count(b"\n") + sum(piece.count(b"\n") for piece in pieces)

    assert 0 < len(first) < 10_000
    assert lines >= 50_000
    assert most_memory() - before < 20_000_000
