"""The bytes that one company may have waiting in imports and in files to download."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company, Scope
from pipeline.models import ImportRun, StoredFile
from tasks.errors import Fatal
from tasks.models import Task
from tests.files.imports.files import as_csv, people
from tests.support import factories
from tests.support.callers import Caller, code_of, key_of
from tests.support.handlers import Run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)


def send(caller: Caller, job: UUID, rows: int = 5) -> Any:
    content = as_csv(people(rows))
    return caller.post(f"/jobs/{job}/applications/import", content, content_type="text/csv")


def test_an_import_beyond_it_is_refused_and_nothing_is_kept(
    acme: Caller, job: UUID, settings: Any
) -> None:
    first = send(acme, job)
    assert first.status_code == 202
    used = StoredFile.objects.get().size_bytes
    settings.FILE_BYTES_PER_COMPANY = used + 10

    refused = send(acme, job)

    assert code_of(refused) == (409, "FILES_FULL")
    assert str(used + 10) in refused.json()["detail"]
    assert (StoredFile.objects.count(), Task.objects.count()) == (1, 1)


def test_it_is_the_companys_own_and_an_ended_import_does_not_count(
    acme: Caller, job: UUID, settings: Any
) -> None:
    assert send(acme, job).status_code == 202
    settings.FILE_BYTES_PER_COMPANY = StoredFile.objects.get().size_bytes + 10
    other = factories.job()
    theirs = key_of(factories.row_of(other).company_id, Scope.READ, Scope.WRITE)
    assert send(theirs, other).status_code == 202
    assert send(acme, job).status_code == 409

    run = ImportRun.objects.get(file__job_id=job)
    run.finished_at = run.file.created_at
    run.save()

    assert send(acme, job).status_code == 202


def test_an_export_beyond_it_dies_and_says_why(company: Company, job: UUID, settings: Any) -> None:
    payload = {"job_id": str(job), "format": "csv"}
    Run("log.export", payload, company.id)
    settings.FILE_BYTES_PER_COMPANY = StoredFile.objects.get().size_bytes

    with pytest.raises(Fatal, match="already use"):
        Run("log.export", payload, company.id)
