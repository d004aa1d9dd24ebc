"""The pages on which a company gives a file, watches the import, and gets what was refused."""

from __future__ import annotations

import csv
import io
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.models import Company, Role
from pipeline.files.imports import admitting
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.reading import read_csv_rows
from pipeline.files.imports.tasks import check_rows
from pipeline.models import ImportRun, StoredFile
from pipeline.services.jobs import pause_job
from tasks.models import Task
from tests.files.imports.files import as_csv, people
from tests.support import factories
from tests.support.accounts import browser_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job_id(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=2)


def give(client: Client, job_id: UUID, content: bytes, name: str = "people.csv") -> str:
    """Upload a file; where the browser is sent, or the page it sees."""
    file = SimpleUploadedFile(name, content, content_type="text/csv")
    answer = client.post(f"/company/jobs/{job_id}/import/", {"file": file})
    return answer["Location"] if answer.status_code == 302 else answer.content.decode()


def rows_of(answer: object) -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def test_the_board_leads_to_the_form_which_explains_the_file(
    recruiter: Client, job_id: UUID
) -> None:
    board = recruiter.get(f"/company/jobs/{job_id}/").content.decode()
    form = recruiter.get(f"/company/jobs/{job_id}/import/").content.decode()
    sample = recruiter.get(f"/company/jobs/{job_id}/import/sample.csv")

    assert f'href="/company/jobs/{job_id}/import/"' in board
    assert "A line at the top must name the columns" in form
    assert "import/sample.csv" in form
    location = give(recruiter, job_id, sample.content)
    assert not ImportRun.objects.get().is_read
    assert f"/company/jobs/{job_id}/import/{ImportRun.objects.get().file_id}/" == location


def test_a_file_is_given_watched_and_taken_in(recruiter: Client, job_id: UUID) -> None:
    here = give(recruiter, job_id, as_csv([*people(3), ("", "x@x.org")]))
    waiting = recruiter.get(here).content.decode()
    assert "Waiting" in waiting
    assert 'data-poll-seconds="2"' in waiting

    admit_rows(ImportRun.objects.get().file_id)
    done = recruiter.get(here).content.decode()

    assert "Done" in done
    assert 'data-poll-seconds="0"' in done  # it never changes again
    assert "The row has no name." in done
    assert rows_of(recruiter.get(f"{here}not-taken-in.csv")) == [
        {
            "row": "5",
            "name": "",
            "email": "x@x.org",
            "reason": "The row has no name. Enter one in the column “name”.",
            "code": "NO_NAME",
            "external_id": "",
        }
    ]


def test_a_check_shows_how_the_columns_were_understood(recruiter: Client, job_id: UUID) -> None:
    content = b"My contacts\n\nFirst Name,Last Name,E-mail Address\nAda,Bek,ada@x.org\nBo,,x\n"
    file = SimpleUploadedFile("people.csv", content, content_type="text/csv")
    here = recruiter.post(f"/company/jobs/{job_id}/import/", {"file": file, "check": "1"})

    check_rows(ImportRun.objects.get().file_id)
    page = " ".join(recruiter.get(here["Location"]).content.decode().split())

    assert (
        "Row 3 names the columns. Name, joined from: <q>First Name</q> + <q>Last Name</q>" in page
    )
    assert "Email: <q>E-mail Address</q>." in page
    assert "The first person is Ada Bek, ada@x.org." in page
    assert (
        "“x” is not an email address. Enter an email address, like name@example.org, in the" in page
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty"),
        (b"name;phone\nAna;1\n", "no column “email”"),
        ("name,email\nJosé,a@x.org\n".encode("latin-1"), "not a text file in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_at_once_and_nothing_is_kept(
    recruiter: Client, job_id: UUID, content: bytes, words: str
) -> None:
    assert words in give(recruiter, job_id, content)

    assert not StoredFile.objects.exists()
    assert not Task.objects.exists()


def test_a_job_that_is_not_open_takes_no_file(recruiter: Client, job_id: UUID) -> None:
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    assert (
        "This job is not open" in recruiter.get(f"/company/jobs/{job_id}/import/").content.decode()
    )
    assert "This job is not open for applications now." in give(
        recruiter, job_id, as_csv(people(1))
    )
    assert not StoredFile.objects.exists()


def test_the_report_of_an_import_that_ended_early_can_be_imported_again(
    recruiter: Client, company: Company, job_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 3)
    monkeypatch.setattr(admitting, "FIRST_PARTS", 1)
    here = give(recruiter, job_id, as_csv(people(8)))
    admit_rows(
        ImportRun.objects.get().file_id,
        after_batch=lambda _: pause_job(job_id=job_id, actor=factories.RECRUITER),
    )

    page = " ".join(recruiter.get(here).content.decode().split())
    report = recruiter.get(f"{here}not-taken-in.csv")
    content = b"".join(report.streaming_content)
    other = factories.job(company_id=company.id)
    give(recruiter, other, content)

    assert "5 rows were not processed" in page
    assert admit_rows(ImportRun.objects.get(file__job_id=other).file_id).accepted == 5


def test_no_cell_of_the_report_is_run_by_a_spreadsheet(recruiter: Client, job_id: UUID) -> None:
    here = give(recruiter, job_id, as_csv([("=1+1", "=HYPERLINK(1)"), ("@cmd", "+1")]))
    admit_rows(ImportRun.objects.get().file_id)

    rows = rows_of(recruiter.get(f"{here}not-taken-in.csv"))

    assert [(row["name"], row["email"]) for row in rows] == [
        ("'=1+1", "'=hyperlink(1)"),
        ("'@cmd", "'+1"),
    ]


def test_imports_are_for_recruiters_of_that_company_and_of_that_job(
    recruiter: Client, company: Company, job_id: UUID
) -> None:
    here = give(recruiter, job_id, as_csv(people(2)))
    other = factories.job(company_id=company.id)
    elsewhere = here.replace(str(job_id), str(other))
    form = f"/company/jobs/{job_id}/import/"
    pages = [form, f"{form}sample.csv", here, f"{here}not-taken-in.csv"]
    viewer = browser_of(member_of(company, Role.VIEWER))
    owner = browser_of(member_of(company, Role.OWNER))
    stranger = browser_of(member_of(factories.company(), Role.OWNER))

    for page in pages:
        assert owner.get(page).status_code == 200
        assert viewer.get(page).status_code == 403
        assert stranger.get(page).status_code == 404
        assert Client().get(page).status_code == 302
    assert recruiter.get(elsewhere).status_code == 404


def test_a_page_that_nothing_changed_on_is_not_built_again(recruiter: Client, job_id: UUID) -> None:
    here = give(recruiter, job_id, as_csv(people(2)))
    first = recruiter.get(f"{here}?fragment=1")

    same = recruiter.get(f"{here}?fragment=1", headers={"If-None-Match": first["ETag"]})
    admit_rows(ImportRun.objects.get().file_id)
    other = recruiter.get(f"{here}?fragment=1", headers={"If-None-Match": first["ETag"]})

    assert (same.status_code, other.status_code) == (304, 200)


def test_the_report_can_be_imported_once_more_whatever_an_address_begins_with(
    recruiter: Client, company: Company, job_id: UUID
) -> None:
    page = give(recruiter, job_id, as_csv([("=Ana", "+ana@x.org"), ("'Ben", "'ben@x.org")]))
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    admit_rows(ImportRun.objects.get().file_id)

    report = b"".join(recruiter.get(f"{page}not-taken-in.csv").streaming_content)  # type: ignore[attr-defined]

    rows = [(row.name, row.email) for row in read_csv_rows([report])]
    assert rows == [("=Ana", "+ana@x.org"), ("'Ben", "'ben@x.org")]
