"""Exports in the background: whole, provable, the company's own, and safe to run twice."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.models import Company
from pipeline.files import exports as module
from pipeline.files import stored
from pipeline.files.stored import read_pieces
from pipeline.line.event_log import GENESIS
from pipeline.models import StoredFile, StoredPart
from pipeline.privacy.erase import erase_person
from tasks.errors import Fatal, InvalidPayload, Retry
from tasks.payloads import check_payload
from tasks.registry import find_registered_type
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.handlers import Run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with two seats and three people who wait."""
    job = factories.job(company_id=company.id, capacity=2)
    factories.applications(job, 5)
    return job


def exported(what: str, job: UUID, company: Company, format: str = "jsonl", **how: Any) -> Run:
    payload = {"job_id": str(job), "format": format}
    return Run(f"{what}.export", payload, company.id, **how)


def text_of(run: Run) -> str:
    return b"".join(read_pieces(UUID(run.result["file_id"]))).decode()


def proved_head(lines: str) -> tuple[int, str]:
    """Hash an exported log again, as anyone with only the file can."""
    from hashlib import sha256

    head, seq = GENESIS, 0
    for line in lines.splitlines():
        row = json.loads(line)
        told = {name: row.pop(name) for name in ("prev_hash", "hash")}
        text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert told["prev_hash"] == head.hex()
        head, seq = sha256(head + text.encode()).digest(), row["seq"]
        assert told["hash"] == head.hex()
    return seq, head.hex()


def test_the_exported_log_proves_itself_up_to_the_head(job: UUID, company: Company) -> None:
    run = exported("log", job, company)

    row = factories.row_of(job)
    assert proved_head(text_of(run)) == (row.seq, bytes(row.chain_head).hex())
    file = stored.read(company.id, UUID(run.result["file_id"]))
    assert (file.rows, run.result["rows"]) == (row.seq, row.seq)
    assert file.size_bytes == len(text_of(run).encode())
    assert file.name.startswith("engineer-log-")
    assert file.task_id == run.task_id


def test_applications_are_exported_as_they_are(job: UUID, company: Company) -> None:
    run = exported("applications", job, company, "csv")

    rows = list(csv.DictReader(io.StringIO(text_of(run), newline="")))
    assert [row["status"] for row in rows] == ["ACTIVE"] * 2 + ["WAITLIST"] * 3
    assert [row["position"] for row in rows] == ["", "", "1", "2", "3"]
    assert run.result["rows"] == 5
    assert run.said[-1]["done"] == 5


def test_a_second_attempt_replaces_what_the_first_has_written(job: UUID, company: Company) -> None:
    first = exported("applications", job, company)
    factories.applications(job, 1)
    second = exported("applications", job, company, task_id=first.task_id)

    assert second.result["file_id"] == first.result["file_id"]
    assert text_of(second).count("\n") == 6
    assert StoredFile.objects.count() == 1


def test_two_exports_are_two_files(job: UUID, company: Company) -> None:
    first, second = (exported("log", job, company) for _ in range(2))

    assert first.result["file_id"] != second.result["file_id"]


@pytest.mark.parametrize("what", ["applications", "log"])
def test_another_companys_job_and_one_that_is_none_are_refused(what: str, job: UUID) -> None:
    other = factories.company()

    for job_id in (job, uuid4()):
        with pytest.raises(Fatal, match="no such job"):
            exported(what, job_id, other)
    assert not StoredFile.objects.exists()


def test_an_export_is_for_a_company(job: UUID) -> None:
    with pytest.raises(Fatal, match="for a company"):
        Run("log.export", {"job_id": str(job), "format": "csv"}, None)


def test_what_is_cancelled_in_the_middle_leaves_nothing(
    job: UUID, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECE", 300)

    run = exported("log", job, company, cancelled_after=2)

    assert run.result is None
    assert len(run.said) >= 1
    assert not StoredFile.objects.exists()
    assert not StoredPart.objects.exists()


def test_whoever_is_erased_meanwhile_is_not_left_in_the_file(
    job: UUID, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = factories.application(job).applicant
    lines = module.formatted_lines

    def erase_one_when_read(*args: Any) -> Any:
        yield from lines(*args)
        erase_person(applicant_id=person.id)

    monkeypatch.setattr(module, "formatted_lines", erase_one_when_read)
    with pytest.raises(Retry):
        exported("applications", job, company)

    assert not StoredFile.objects.filter(is_complete=True).exists()


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"job_id": "no", "format": "csv"},
        {"job_id": str(uuid4()), "format": "xlsx"},
        {"job_id": str(uuid4()), "format": "csv", "more": 1},
    ],
)
def test_a_payload_that_says_something_else_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload):
        check_payload(find_registered_type("log.export"), payload)


def test_a_longer_line_is_told_of_slice_by_slice(company: Company) -> None:
    job = factories.job(company_id=company.id)
    crowd(job, 3_000)

    run = exported("log", job, company, "csv")

    assert run.result["rows"] == factories.row_of(job).seq == 3_002
    assert text_of(run).count("\r\n") == 3_003
    assert run.said[-1] == {"done": 3_002, "total": 3_002, "note": "rows written"}
