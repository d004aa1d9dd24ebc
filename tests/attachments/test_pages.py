"""Files on pages: chosen with or without JavaScript, and seen by the two sides alone."""

from __future__ import annotations

import json
import logging
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company, Role
from pipeline.attachments import storage, uploads
from pipeline.attachments.kinds import BY_CONTENT_TYPE
from pipeline.form.questions import Kind
from pipeline.models import Application, Attachment
from pipeline.pages.company.application import VIEWED
from pipeline.privacy import archive
from pipeline.privacy.erase import erase_person
from tests.support import documents, factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import key_of
from tests.support.documents import PDF, PNG, TXT, objects_in
from tests.support.forms import job_with, question

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


@pytest.fixture
def waiting(company: Company) -> Application:
    """An application that waits in line at the company."""
    job_id = factories.job(company_id=company.id)
    factories.application(job_id)
    return factories.application(job_id)


def member_browser(company: Company, role: Role = Role.OWNER) -> Client:
    return browser_of(member_of(company, role))


def chosen(content: bytes = PDF, name: str = "cv.pdf") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="text/html")


def files_of(application: Application) -> list[Attachment]:
    return list(Attachment.objects.filter(application=application).order_by("id"))


def add(browser: Client, application: Application, *files: SimpleUploadedFile, **more: Any) -> Any:
    url = f"/me/applications/{application.id}/files/"
    return browser.post(url, {"files": list(files)} | more, follow=True)


def test_an_applicant_adds_sees_opens_and_removes_files(waiting: Application) -> None:
    browser = applicant_browser(waiting.applicant)

    page = add(browser, waiting, chosen(), chosen(PNG, "me.png"))

    cv, picture = files_of(waiting)
    assert (cv.content_type, picture.content_type) == ("application/pdf", "image/png")
    assert "cv.pdf" in page.text
    assert "not scanned for malware" in page.text
    url = f"/me/applications/{waiting.id}/files/{cv.id}/"
    assert b"".join(browser.get(url)) == PDF
    page = browser.post(f"{url}remove/", follow=True)
    assert "The file is removed." in page.text
    assert [each.id for each in files_of(waiting)] == [picture.id]


def test_too_many_files_and_wrong_kinds_are_explained(waiting: Application) -> None:
    browser = applicant_browser(waiting.applicant)

    assert (
        "svg.pdf: This kind of file is not accepted"
        in add(browser, waiting, chosen(b"<svg>", "svg.pdf")).text
    )
    assert "You can send at most 5 files here" in add(browser, waiting, *[chosen()] * 6).text
    assert "Choose a file." in add(browser, waiting).text
    assert not files_of(waiting)


def upload_at_once(browser: Client, job_id: UUID, content: bytes = PDF) -> Any:
    return browser.post(f"/jobs/{job_id}/uploads/", {"file": chosen(content)})


def test_a_file_uploaded_at_once_is_attached_by_its_browser_alone(waiting: Application) -> None:
    mine, theirs = applicant_browser(waiting.applicant), applicant_browser(factories.applicant())
    own = upload_at_once(mine, waiting.job_id).json()
    foreign = upload_at_once(theirs, waiting.job_id).json()
    assert (own["name"], own["size"]) == ("cv.pdf", len(PDF))

    add(mine, waiting, files_id=[own["id"], foreign["id"]])

    assert [str(each.id) for each in files_of(waiting)] == [own["id"]]


def test_a_visitor_uploads_and_removes_before_applying(folder: Path) -> None:
    job_id, browser = factories.job(), Client()
    made = upload_at_once(browser, job_id)
    assert made.status_code == 201
    url = f"/jobs/{job_id}/uploads/{made.json()['id']}/remove/"

    assert Client().post(url).status_code == 204
    assert Attachment.objects.exists()
    assert browser.post(url).status_code == 204
    storage.remove_due()

    assert not Attachment.objects.exists()
    assert not objects_in(folder)


def test_erasure_removes_what_the_same_browser_uploaded_and_left(folder: Path) -> None:
    form = question(Kind.FILE, "cv", label="CV")
    job_id, browser = job_with([form]), Client()
    upload_at_once(browser, job_id)
    sent = {"name": "Ann", "email": "ann@example.org", "form_version": 1, "q_cv": chosen()}
    browser.post(f"/jobs/{job_id}/apply/", sent)
    company = factories.row_of(job_id).company_id
    for holder in (uploads.holder_of("company", company), uploads.holder_of("browser", "another")):
        uploads.add(
            company_id=company,
            job_id=job_id,
            holder=holder,
            name="cv.pdf",
            size_bytes=len(PDF),
            content=[PDF],
        )
    assert Attachment.objects.count() == 4

    erase_person(applicant_id=Applicant.objects.get(email="ann@example.org").id)
    storage.remove_due()

    assert Attachment.objects.count() == len(objects_in(folder)) == 2


def test_a_refused_upload_says_why(settings: Any) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {"upload": (2, 60)}
    job_id, browser = factories.job(), Client()

    refused = upload_at_once(browser, job_id, b"<svg>")
    assert (refused.status_code, "not accepted" in refused.json()["detail"]) == (409, True)
    assert browser.post(f"/jobs/{job_id}/uploads/").status_code == 400
    assert upload_at_once(browser, job_id).status_code == 201
    late = upload_at_once(browser, job_id)
    assert (late.status_code, "Retry-After" in late.headers) == (429, True)


def attached(application: Application, content: bytes = PDF, name: str = "cv.pdf") -> Attachment:
    """A file that the application has."""
    holder = uploads.holder_of("browser", "any")
    row = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=holder,
        name=name,
        size_bytes=len(content),
        content=[content],
    )
    uploads.attach_later([row.id], application_id=application.id, question_id=None, holder=holder)
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("name", documents.ALL)
def test_a_member_sees_each_kind_of_file(name: str, waiting: Application, company: Company) -> None:
    row = attached(waiting, documents.ALL[name], f"my {name}.html")
    member = member_browser(company, Role.VIEWER)
    url = f"/company/applications/{waiting.id}/files/{row.id}/"

    # The page of the application shows pictures and pages itself; a text has a page of its own.
    whole = member.get(f"/company/applications/{waiting.id}/").text
    is_shown = BY_CONTENT_TYPE[row.content_type].shown_as in VIEWED
    assert is_shown == (name in ("PDF", "JPEG", "PNG"))
    assert (f'data-key="viewer-{row.id}"' in whole) == is_shown
    assert (f'href="/company/applications/{waiting.id}/?file={row.id}"' in whole) == is_shown
    assert (f'href="{url}view/"' in whole) == (not is_shown)
    page, file = member.get(f"{url}view/"), member.get(url)

    assert page.status_code == 200
    assert b"".join(file) == documents.ALL[name]
    assert file["Content-Type"] == row.content_type
    assert file["Content-Disposition"] == f'attachment; filename="my {name}.html"'
    assert file["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert file["X-Content-Type-Options"] == "nosniff"
    assert file["Cache-Control"] == "private, no-store"
    if name == "TXT":
        assert "Grüße from a CV" in page.text


def test_a_text_is_shown_as_text(waiting: Application, company: Company) -> None:
    row = attached(waiting, b"CV <script>alert(1)</script>")

    page = member_browser(company).get(f"/company/applications/{waiting.id}/files/{row.id}/view/")

    assert "CV &lt;script&gt;alert(1)&lt;/script&gt;" in page.text


@pytest.mark.parametrize("state", ["WAITING", "REFUSED"])
def test_nobody_opens_a_file_before_its_scan_or_after_a_refusal(
    state: str, waiting: Application, company: Company
) -> None:
    row = attached(waiting)
    Attachment.objects.filter(id=row.id).update(state=state)
    member, own = member_browser(company), applicant_browser(waiting.applicant)
    url = f"/company/applications/{waiting.id}/files/{row.id}/"

    assert [member.get(each).status_code for each in (url, f"{url}view/")] == [404, 404]
    assert own.get(f"/me/applications/{waiting.id}/files/{row.id}/").status_code == 404
    assert "malware scan" in member.get(f"/company/applications/{waiting.id}/").text


def test_strangers_find_no_file(waiting: Application) -> None:
    row, others = attached(waiting), factories.application(factories.job())
    strangers = [applicant_browser(others.applicant), member_browser(factories.company())]
    seen = [f"/company/applications/{waiting.id}/files/{row.id}/"]
    seen += [f"{seen[0]}view/", f"/me/applications/{waiting.id}/files/{row.id}/"]
    # one's own application does not open the files of another
    own = f"/me/applications/{others.id}/files/{row.id}/"

    for browser in strangers:
        answers = [browser.get(url).status_code for url in [*seen, own]]
        assert set(answers) <= {404, 302}, answers
    assert strangers[0].get(own).status_code == 404
    strangers[0].post(f"{own}remove/")
    assert files_of(waiting) == [row]
    assert Client().get(seen[0]).status_code == 302


def test_each_look_is_in_the_security_log(
    waiting: Application, company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    row = attached(waiting, TXT)
    caplog.set_level(logging.INFO, logger="security")
    member = member_browser(company)
    url = f"/company/applications/{waiting.id}/files/{row.id}/"
    looks = [url, f"{url}view/"]

    for each in looks:
        member.get(each)
    applicant_browser(waiting.applicant).get(f"/me/applications/{waiting.id}/files/{row.id}/")

    found = [record for record in caplog.records if record.message == "attachment.opened"]
    assert [vars(each)["attachment"] for each in found] == [str(row.id)] * 3
    assert [vars(each)["by"].partition(":")[0] for each in found] == [
        "member",
        "member",
        "applicant",
    ]


def test_a_file_that_is_lost_in_the_storage_is_not_found(
    waiting: Application, company: Company, folder: Path
) -> None:
    row = attached(waiting)
    for path in objects_in(folder):
        path.unlink()

    url = f"/company/applications/{waiting.id}/files/{row.id}/"

    assert member_browser(company).get(url).status_code == 404


def test_a_file_is_not_called_missing_while_the_storage_is_away(
    waiting: Application, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = attached(waiting)
    owner = member_of(company, Role.OWNER)
    browser = Client(raise_request_exception=False)
    browser.force_login(owner)

    def refuse(*_: Any) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(storage.attachment_storage(), "open", refuse)
    page = browser.get(f"/company/applications/{waiting.id}/files/{row.id}/")
    answer = key_of(company.id).get(f"/applications/{waiting.id}/files/{row.id}")

    assert (page.status_code, page["Retry-After"]) == (503, "60")
    assert "We cannot reach the storage of files" in page.text
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert "cannot be read at the moment" in answer.json()["detail"]


# The download of everything.


def archive_of(browser: Client) -> ZipFile:
    answer = browser.get("/me/data/archive/")
    assert answer["Content-Type"] == "application/zip"
    assert answer["Cache-Control"] == "private, no-store"
    return ZipFile(BytesIO(b"".join(answer)))


def test_the_download_of_everything_holds_the_bytes_of_files(
    waiting: Application, folder: Path
) -> None:
    kept, unseen, lost = (attached(waiting, name=f"{name}.pdf") for name in ("cv", "new", "lost"))
    Attachment.objects.filter(id=unseen.id).update(state="WAITING")
    (folder / (lost.storage_key or "")).unlink()
    browser = applicant_browser(waiting.applicant)

    found = archive_of(browser)

    assert found.testzip() is None
    assert found.namelist() == [f"files/{kept.id}/cv.pdf", "my-data.json"]
    assert found.read(f"files/{kept.id}/cv.pdf") == PDF
    [described] = json.loads(found.read("my-data.json"))["applications"]
    assert [each["name"] for each in described["files"]] == ["cv.pdf", "new.pdf", "lost.pdf"]
    assert "/me/data/archive/" in browser.get("/me/data/").text


def test_nobody_downloads_the_files_of_someone_else(waiting: Application) -> None:
    attached(waiting)
    browser = applicant_browser(factories.applicant())

    assert archive_of(browser).namelist() == ["my-data.json"]
    assert "/me/data/archive/" not in browser.get("/me/data/").text
    assert Client().get("/me/data/archive/").status_code == 302


def test_a_large_file_is_never_in_memory_as_a_whole(waiting: Application) -> None:
    attached(waiting, b"line\n" * 1_000_000, "long.txt")

    pieces = list(archive.stream({}, files_of(waiting)))

    assert max(map(len, pieces)) < 200_000
    assert len(ZipFile(BytesIO(b"".join(pieces))).read(f"files/{files_of(waiting)[0].id}/long.txt"))
