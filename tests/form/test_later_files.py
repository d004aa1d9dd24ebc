"""A file that answers a question is replaced while waiting; the earlier one stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs.models import Company, Role
from pipeline.attachments import uploads
from pipeline.domain.errors import FileKindRefused, TooManyAttachments, UploadNotFound
from pipeline.form import later
from pipeline.form.answers import fill, read_given
from pipeline.form.questions import Kind
from pipeline.models import Application, Attachment
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import signed_in
from tests.support.documents import PDF, PNG
from tests.support.forms import job_with, question
from tests.support.invariants import assert_line_is_sound
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

CV = question(Kind.FILE, "cv", label="Your CV", required=True)
TOWN = question(Kind.SHORT_TEXT, "town", label="Town")


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


@pytest.fixture
def person(company: Company) -> Application:
    """Someone who waits and has sent a CV, from a browser that was not signed in."""
    job_id = job_with([CV, TOWN], capacity=1, company_id=company.id)
    return [_apply(job_id, f"cv-{n}.pdf") for n in range(2)][1]


def _apply(job_id: UUID, name: str) -> Application:
    holder = uploads.holder_of("browser", name)
    answers = {"cv": [str(upload(job_id, holder, name=name).id)], "town": "Kiel"}
    given = fill(factories.row_of(job_id), answers, holder=holder)
    return factories.application(job_id, filled=given)


def upload(job_id: UUID, holder: bytes, content: bytes = PDF, name: str = "new.pdf") -> Attachment:
    return uploads.add(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        holder=holder,
        name=name,
        size_bytes=len(content),
        content=[content],
    )


def change(person: Application, **answers: Any) -> None:
    job, holder = factories.row_of(person.job_id), uploads.holder_of("person", person.applicant_id)
    earlier = read_given(person.id)[0].answers
    filled = later.fill_later(job, answers, earlier=earlier, holder=holder)
    actor = factories.owner_of(person)
    later.change_answers(application_id=person.id, filled=filled, actor=actor)


def own_upload(person: Application, content: bytes = PDF, name: str = "new.pdf") -> str:
    holder = uploads.holder_of("person", person.applicant_id)
    return str(upload(person.job_id, holder, content, name).id)


def files_of(person: Application) -> list[str]:
    return [each.name for each in Attachment.objects.filter(application=person).order_by("id")]


def names_by_version(person: Application) -> list[list[str]]:
    """Return the names of the files in each version of the answers, the last first."""
    names = {str(each.id): each.name for each in Attachment.objects.all()}
    return [[names[each] for each in row.answers.get("cv", [])] for row in read_given(person.id)]


def test_a_new_file_is_a_new_version_and_the_old_one_stays_with_its_own(
    person: Application,
) -> None:
    change(person, cv=[own_upload(person)], town="Kiel")

    assert names_by_version(person) == [["new.pdf"], ["cv-1.pdf"]]
    assert files_of(person) == ["cv-1.pdf", "new.pdf"]
    assert_line_is_sound(person.job_id)


def test_a_question_for_files_that_is_left_out_keeps_them(person: Application) -> None:
    change(person, town="Rostock")

    assert names_by_version(person) == [["cv-1.pdf"], ["cv-1.pdf"]]


def test_an_earlier_file_can_be_the_answer_again(person: Application) -> None:
    [first] = read_given(person.id)[0].answers["cv"]
    change(person, cv=[own_upload(person)])

    change(person, cv=[first])

    assert names_by_version(person) == [["cv-1.pdf"], ["new.pdf"], ["cv-1.pdf"]]


def test_older_files_count_within_the_limit(person: Application, settings: Any) -> None:
    settings.ATTACHMENTS_PER_APPLICATION = 2
    change(person, cv=[own_upload(person)])

    with pytest.raises(TooManyAttachments):
        change(person, cv=[own_upload(person, name="third.pdf")])

    assert names_by_version(person) == [["new.pdf"], ["cv-1.pdf"]]
    assert files_of(person) == ["cv-1.pdf", "new.pdf"]


def test_a_file_of_someone_else_and_a_wrong_kind_change_nothing(person: Application) -> None:
    stranger = upload(person.job_id, uploads.holder_of("browser", "stranger"))
    of_other = Attachment.objects.exclude(application=person).exclude(application=None).get()
    for foreign in (stranger, of_other):
        with pytest.raises(UploadNotFound):
            change(person, cv=[str(foreign.id)])

    only_pdf = question(Kind.FILE, "cv", label="Your CV", required=True, file_kinds=["PDF"])
    job_id = job_with([only_pdf, TOWN], capacity=1)
    other = [_apply(job_id, f"cv-{n}.pdf") for n in range(2)][1]
    with pytest.raises(FileKindRefused):
        change(other, cv=[own_upload(other, PNG, "me.png")])

    assert len(names_by_version(person)) == len(names_by_version(other)) == 1
    assert files_of(other) == ["cv-1.pdf"]


# On pages.


def page_of(person: Application) -> str:
    return f"/me/applications/{person.id}/answers/"


def chosen(name: str, content: bytes = PDF) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def test_the_page_shows_the_file_and_takes_another_one(
    person: Application, company: Company
) -> None:
    browser = applicant_browser(person.applicant)
    shown = browser.get(page_of(person)).content.decode()
    [kept] = read_given(person.id)[0].answers["cv"]
    assert f'name="q_cv_id" value="{kept}" checked' in shown
    assert 'enctype="multipart/form-data"' in shown

    sent = {"form_version": 1, "q_town": "Kiel", "q_cv_id": kept, "q_cv": chosen("newer.pdf")}
    saved = browser.post(page_of(person), sent, follow=True)

    assert "Your answers are saved" in text_of(saved)
    assert names_by_version(person) == [["newer.pdf"], ["cv-1.pdf"]]
    text = text_of(browser.get(f"/me/applications/{person.id}/"))
    assert "cv-1.pdf 864 bytes, not scanned for malware replaced" in text.replace("\xa0", " ")
    company_page = text_of(
        browser_of(member_of(company, Role.OWNER)).get(f"/company/applications/{person.id}/")
    )
    assert "cv-1.pdf older" in company_page
    assert "newer.pdf older" not in company_page


def test_a_required_file_cannot_be_taken_away_and_nothing_typed_is_lost(
    person: Application,
) -> None:
    browser = applicant_browser(person.applicant)

    refused = browser.post(page_of(person), {"form_version": 1, "q_town": "Bremen"})

    assert refused.status_code == 422
    assert "Choose a file." in text_of(refused)
    assert 'value="Bremen"' in refused.content.decode()
    assert len(read_given(person.id)) == 1


def test_a_file_that_is_refused_later_keeps_what_was_typed(
    person: Application, settings: Any
) -> None:
    settings.ATTACHMENTS_PER_APPLICATION = 1
    sent = {"form_version": 1, "q_town": "Bremen", "q_cv": chosen("newer.pdf")}

    refused = applicant_browser(person.applicant).post(page_of(person), sent)

    assert refused.status_code == 422
    assert "An application can have 1 file." in text_of(refused)
    assert 'value="Bremen"' in refused.content.decode()


def test_a_file_that_the_scan_refused_has_to_be_replaced(person: Application) -> None:
    Attachment.objects.filter(application=person).update(state=Attachment.State.REFUSED)
    [kept] = read_given(person.id)[0].answers["cv"]
    browser = applicant_browser(person.applicant)

    page = browser.get(page_of(person)).content.decode()
    sent = {"form_version": 1, "q_town": "Kiel", "q_cv_id": kept}
    refused = browser.post(page_of(person), sent)

    assert kept not in page
    assert "Choose a file." in text_of(refused)


def test_the_answer_names_its_file_with_size_state_and_download(person: Application) -> None:
    browser = applicant_browser(person.applicant)
    page = browser.get(f"/me/applications/{person.id}/")
    file = Attachment.objects.get(application=person)

    answer = page.content.decode().partition('<dl class="answers">')[2].partition("</dl>")[0]
    assert f'href="/me/applications/{person.id}/files/{file.id}/"' in answer
    assert "cv-1.pdf" in answer
    assert "not scanned for malware" in answer
    assert b"".join(browser.get(f"/me/applications/{person.id}/files/{file.id}/")) == PDF


def test_the_page_shows_a_file_that_is_an_answer_once(person: Application) -> None:
    browser = applicant_browser(person.applicant)

    first = browser.get(f"/me/applications/{person.id}/").content.decode()
    change(person, cv=[own_upload(person)], town="Kiel")
    later = browser.get(f"/me/applications/{person.id}/").content.decode()

    assert first.count(">cv-1.pdf<") == 1
    assert "You have not added a file." not in first
    assert (later.count(">new.pdf<"), later.count(">cv-1.pdf<")) == (1, 1)


def test_the_answer_says_what_to_do_about_a_refused_file(person: Application) -> None:
    Attachment.objects.filter(application=person).update(state=Attachment.State.REFUSED)

    page = applicant_browser(person.applicant).get(f"/me/applications/{person.id}/")

    assert "refused by the malware scan, and removed: add a clean copy" in text_of(page)


def test_the_page_updates_itself_when_the_scan_ends(person: Application) -> None:
    browser = applicant_browser(person.applicant)
    Attachment.objects.filter(application=person).update(state=Attachment.State.WAITING)
    url = f"/me/applications/{person.id}/?fragment=1"
    before = browser.get(url)
    assert "waits for the malware scan" in text_of(before)
    again = {"If-None-Match": before["ETag"]}
    assert browser.get(url, headers=again).status_code == 304

    Attachment.objects.filter(application=person).update(state=Attachment.State.CLEAN)
    after = browser.get(url, headers=again)

    assert after.status_code == 200
    assert "scanned for malware" in text_of(after)


# Over the API.


def test_the_api_replaces_a_file_and_says_which_one_is_older(person: Application) -> None:
    caller = signed_in(person.applicant)
    new = own_upload(person, name="api.pdf")

    changed = caller.post(f"/applications/{person.id}/answers", {"answers": {"cv": [new]}})

    assert changed.status_code == 200, changed.json()
    listed = caller.get(f"/applications/{person.id}/files").json()["data"]
    assert [(each["name"], each["replaced"]) for each in listed] == [
        ("cv-1.pdf", True),
        ("api.pdf", False),
    ]
