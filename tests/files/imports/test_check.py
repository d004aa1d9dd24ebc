"""Checking a file before anyone is added."""

from __future__ import annotations

import pytest

from applicants.models import Applicant
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.results import read_progress, read_refused_rows
from pipeline.files.imports.starting import CHECK, IMPORT, start_checked, start_import
from pipeline.files.imports.tasks import check_rows
from pipeline.models import Application, ImportRun
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.files.imports.files import as_csv, imported, people, refusals
from tests.support import factories
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)

CONTENT = as_csv(
    [
        *people(5),
        ("", "nameless@x.org"),
        ("Zed", "not an address"),
        ("Again", "p0@import.example"),
        ("In line", "already@x.org"),
        ("Was in line", "left@x.org"),
        ("Unverified", "unproved@x.org"),
    ]
)
REFUSED = [(7, "NO_NAME"), (8, "BAD_EMAIL"), (9, "DUPLICATE"), (10, "ALREADY_APPLIED")]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 2)
    monkeypatch.setattr("pipeline.files.imports.tasks.PARTS_AT_ONCE", 2)


@pytest.fixture
def run() -> ImportRun:
    """A file that waits for its check, for a job with people in its line."""
    job_id = factories.job()
    factories.application(job_id, factories.applicant(email="already@x.org"))
    left = factories.application(job_id, factories.applicant(email="left@x.org"))
    withdraw(application_id=left.id, actor=factories.owner_of(left))
    factories.application(job_id, factories.applicant(email="unproved@x.org"), verified=False)
    start_import(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        name="people.csv",
        content=[CONTENT],
        actor=factories.RECRUITER,
        producer=f"member:{factories.RECRUITER.id}",
        check_only=True,
    )
    return ImportRun.objects.select_related("file").get()


def test_a_check_says_what_the_import_would_do_and_adds_nobody(run: ImportRun) -> None:
    before = (Application.objects.count(), Applicant.objects.count())
    seq = factories.row_of(run.file.job_id).seq

    assert run_due_tasks(CHECK) == ["SUCCEEDED"]

    run.refresh_from_db()
    assert refusals(run) == REFUSED
    assert (run.total_rows, run.next_row, run.refused, run.accepted) == (11, 11, 4, 0)
    assert run.checked_at
    assert run.finished_at is None
    assert (Application.objects.count(), Applicant.objects.count()) == before
    assert factories.row_of(run.file.job_id).seq == seq
    reported = read_refused_rows(read_progress(run.file.company_id, run.file_id))
    assert [each["row"] for each in reported] == [7, 8, 9, 10]  # and not those it would import


def test_the_import_that_follows_does_just_that(run: ImportRun) -> None:
    run_due_tasks(CHECK)
    whole = imported(factories.job(company_id=run.file.company_id), CONTENT)

    task = start_checked(
        company_id=run.file.company_id,
        import_id=run.file_id,
        actor=factories.RECRUITER,
        producer="member:x",
    )

    assert task
    assert run_due_tasks(IMPORT) == ["SUCCEEDED"]
    run.refresh_from_db()
    assert (run.accepted, run.refused, run.ending) == (7, 4, ImportRun.Ending.COMPLETE)
    assert refusals(run) == REFUSED
    assert whole.accepted == 8  # in a job where nobody was yet


def test_an_import_is_started_once_however_often_it_is_asked_for(run: ImportRun) -> None:
    run_due_tasks(CHECK)
    asked = {
        "company_id": run.file.company_id,
        "import_id": run.file_id,
        "actor": factories.RECRUITER,
        "producer": "member:x",
    }

    assert start_checked(**asked)
    assert start_checked(**asked) is None

    assert Task.objects.filter(type__key=IMPORT).count() == 1


def test_a_check_can_be_stopped_and_made_again_from_the_start(run: ImportRun) -> None:
    stopped = check_rows(run.file_id, is_cancelled=lambda: True)
    assert stopped.checked_at is None

    check_rows(run.file_id)
    run.refresh_from_db()

    assert refusals(run) == REFUSED
    assert run.next_row == 11


def test_a_check_changes_nothing_of_an_import_that_was_started(run: ImportRun) -> None:
    started = admit_rows(run.file_id)

    check_rows(run.file_id)
    run.refresh_from_db()

    assert (run.accepted, run.refused, run.check_only) == (7, 4, False)
    assert started.finished_at == run.finished_at
    assert run.checked_at is None


def test_a_file_that_cannot_be_read_is_said_to_be_one(run: ImportRun) -> None:
    start_import(
        company_id=run.file.company_id,
        job_id=run.file.job_id,
        name="bad.csv",
        content=[b'name,email\n"never closed,a@x.org\n'],
        actor=factories.RECRUITER,
        producer="member:x",
        check_only=True,
    )

    run_due_tasks(CHECK)

    bad = ImportRun.objects.latest("file_id")
    assert bad.ending == ImportRun.Ending.BAD_FILE
    assert "quotation mark" in bad.trouble
