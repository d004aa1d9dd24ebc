"""Checking a file on the page, importing it from there, and undoing an import."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.test import Client

from jobs.models import Company, Role
from pipeline.files.imports.starting import CHECK, IMPORT
from pipeline.files.imports.tasks import UNDO
from pipeline.models import Application, ImportRun
from tasks.models import Task
from tests.files.imports.files import as_csv, imported, people
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job_id(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=2)


def page(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_a_file_is_checked_and_then_imported(recruiter: Client, job_id: UUID) -> None:
    factories.applications(job_id, 3)
    file = SimpleUploadedFile("people.csv", as_csv([*people(3), ("", "x@x.org")]))
    answer = recruiter.post(f"/company/jobs/{job_id}/import/", {"file": file, "check": "1"})
    here = answer["Location"]
    assert "Checking" in page(recruiter, here)
    assert run_due_tasks(CHECK) == ["SUCCEEDED"]

    checked = page(recruiter, here)
    assert "Nobody was added and nobody was emailed." in checked
    assert "up to 3 people join the line. No seat is free, so they wait." in checked
    assert "The row has no name." in checked
    assert Application.objects.count() == 3
    assert "only checked" in page(recruiter, f"/company/jobs/{job_id}/import/")

    assert recruiter.post(f"{here}start/")["Location"] == here
    assert run_due_tasks(IMPORT) == ["SUCCEEDED"]

    assert Application.objects.count() == 6
    assert "Undo this import" in page(recruiter, here)


def test_an_import_is_undone(recruiter: Client, job_id: UUID) -> None:
    run = imported(job_id, as_csv(people(4)))
    here = f"/company/jobs/{job_id}/import/{run.file_id}/"

    assert recruiter.post(f"{here}undo/")["Location"] == here
    assert "Being undone" in page(recruiter, here)
    run_due_tasks(UNDO)

    done = page(recruiter, here)
    assert "The import was undone." in done
    assert "Undo this import" not in done
    assert "then 4 removed by an undo" in page(recruiter, f"/company/jobs/{job_id}/import/")
    log = page(recruiter, f"/company/jobs/{job_id}/timeline/")
    assert "added by mistake" in log


def test_a_check_says_how_many_seats_are_free(recruiter: Client, job_id: UUID) -> None:
    file = SimpleUploadedFile("people.csv", as_csv(people(3)))
    answer = recruiter.post(f"/company/jobs/{job_id}/import/", {"file": file, "check": "1"})
    run_due_tasks(CHECK)

    checked = page(recruiter, answer["Location"])
    assert "2 seats are free and go to the first of them at once; the others wait." in checked


def test_a_check_that_was_stopped_says_so(recruiter: Client, job_id: UUID) -> None:
    file = SimpleUploadedFile("people.csv", as_csv(people(3)))
    answer = recruiter.post(f"/company/jobs/{job_id}/import/", {"file": file, "check": "1"})
    Task.objects.filter(type__key=CHECK).update(status="CANCELLED")

    stopped = page(recruiter, answer["Location"])
    assert "Check stopped" in stopped
    assert "The check stopped before it had read all rows. Nobody was added." in stopped
    assert "Download the report" not in stopped


def test_too_late_an_undo_is_refused_with_words(recruiter: Client, job_id: UUID) -> None:
    run = imported(job_id, as_csv(people(1)))
    runs = ImportRun.objects.filter(file_id=run.file_id)
    runs.update(finished_at=F("finished_at") - timedelta(hours=25))
    here = f"/company/jobs/{job_id}/import/{run.file_id}/"

    assert "Undo this import" not in page(recruiter, here)
    recruiter.post(f"{here}undo/")

    assert "can no longer be undone" in page(recruiter, here)
    assert Application.objects.filter(outcome=None).count() == 1


@pytest.mark.parametrize("act", ["start", "undo"])
def test_only_those_who_may_import_may_do_it(company: Company, job_id: UUID, act: str) -> None:
    run = imported(job_id, as_csv(people(1)))
    viewer = browser_of(member_of(company, Role.VIEWER))
    stranger = browser_of(member_of(factories.company(), Role.OWNER))
    here = f"/company/jobs/{job_id}/import/{run.file_id}/{act}/"

    assert viewer.post(here).status_code == 403
    assert stranger.post(here).status_code == 404
