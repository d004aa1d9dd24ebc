"""Files in a browser: uploaded at once or with the form, and read by the viewer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Job, JobStatus, Role
from pipeline.attachments import uploads
from pipeline.form.questions import Kind
from pipeline.models import Application, Attachment
from tests.browser.helpers import axe, no_sideways_scroll, sign_in_applicant, sign_in_staff
from tests.browser.page_clock import pass_time, stop_clock
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import documents
from tests.support.accounts import member_of
from tests.support.forms import job_with, must_have_licence, question

pytestmark = pytest.mark.slow


def save(folder: Path, name: str) -> str:
    """Save a document for the file chooser, and return its path."""
    path = folder / f"cv.{name.lower()}"
    path.write_bytes(documents.ALL[name])
    return str(path)


@pytest.mark.parametrize("javascript", [True, False], ids=["scripted", "plain"])
def test_a_cv_is_added_read_and_removed(
    browser_page: OpenPage, site: Site, world: World, tmp_path: Path, javascript: bool
) -> None:
    page = browser_page("phone", javascript=javascript)
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{world.my_place.id}/")
    no_sideways_scroll(page)

    page.get_by_label("Choose files").set_input_files(
        [save(tmp_path, "PDF"), save(tmp_path, "PNG")]
    )
    if javascript:
        expect(page.locator("[data-uploaded]")).to_have_count(2)
        page.get_by_role("button", name="Remove: cv.png").click()
        expect(page.locator("[data-uploaded]")).to_have_count(1)
    page.get_by_role("button", name="Add files").click()

    expect(page.get_by_text("Files added")).to_be_visible()
    assert Attachment.objects.filter(application=world.my_place).count() == (1 if javascript else 2)
    with page.expect_download() as download:
        page.get_by_role("link", name="cv.pdf").click()
    assert download.value.path().read_bytes() == documents.PDF
    page.get_by_role("button", name="Remove cv.pdf").click()
    expect(page.get_by_text("The file is removed.")).to_be_visible()


def test_a_refused_file_is_explained_at_once(
    browser_page: OpenPage, site: Site, world: World, tmp_path: Path, expected_problems: list[str]
) -> None:
    expected_problems.append("409")
    page = browser_page()
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{world.my_place.id}/")
    path = tmp_path / "cv.pdf"
    path.write_text("<svg>")

    page.get_by_label("Choose files").set_input_files(str(path))

    expect(
        page.get_by_text(re.compile("cv.pdf: This kind of file is not accepted"))
    ).to_be_visible()
    expect(page.locator("[data-uploaded]")).to_have_count(0)


def test_the_reason_for_a_refusal_stays_when_news_of_the_page_come(
    browser_page: OpenPage, site: Site, world: World, tmp_path: Path, expected_problems: list[str]
) -> None:
    expected_problems.append("409")
    page = browser_page()
    sign_in_applicant(page.context, site.url, world.applicant)
    stop_clock(page)
    page.goto(f"/me/applications/{world.my_place.id}/")
    path = tmp_path / "cv.pdf"
    path.write_text("<svg>")
    page.get_by_label("Choose files").set_input_files(str(path))
    reason = page.get_by_text("cv.pdf: This kind of file is not accepted")
    expect(reason).to_be_visible()

    Job.objects.filter(id=world.my_place.job_id).update(status=JobStatus.PAUSED)
    pass_time(page, 40)

    expect(page.locator("#live")).to_contain_text("Job paused")
    expect(reason).to_be_visible()
    page.get_by_label("Choose files").set_input_files(save(tmp_path, "PNG"))
    expect(page.get_by_role("button", name="Remove: cv.png")).to_be_visible()
    expect(reason).to_be_hidden()


def test_a_file_that_is_chosen_after_an_error_answers_it(
    browser_page: OpenPage, world: World, tmp_path: Path, expected_problems: list[str]
) -> None:
    cv = question(Kind.FILE, "cv", label="Your CV", required=True)
    page = browser_page("phone")
    page.goto(f"/jobs/{job_with([cv], company_id=world.company.id)}/")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#errors li")).to_have_count(2)
    expected_problems.append("422")

    page.get_by_label("Your CV").set_input_files(save(tmp_path, "PDF"))

    expect(page.get_by_role("button", name="Remove: cv.pdf")).to_be_visible()
    expect(page.locator("#errors li")).to_have_count(1)  # the address is still missing
    expect(page.get_by_text("Choose a file.")).to_have_count(0)
    expect(page.get_by_label("Your CV")).not_to_have_attribute("aria-invalid", "true")


def test_the_file_of_a_refused_form_can_be_removed(
    browser_page: OpenPage, world: World, tmp_path: Path, expected_problems: list[str]
) -> None:
    expected_problems.append("422")
    needed = question(Kind.FILE, "cv", label="CV", required=True)
    job_id = job_with([needed, must_have_licence()])
    page = browser_page("phone")
    page.goto(f"/jobs/{job_id}/")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Email address").fill("ann@example.org")
    page.locator("[type=file]").set_input_files(save(tmp_path, "PDF"))
    page.get_by_text("No", exact=True).locator("xpath=ancestor::label").click()  # the word
    page.get_by_role("button", name="Apply to").click()
    expect(page.get_by_role("radio", name="No")).to_be_checked()

    page.get_by_role("button", name="Remove: cv.pdf").click()
    expect(page.locator("[data-uploaded]")).to_have_count(0)
    for name in ("PDF", "PNG"):
        page.locator("[type=file]").set_input_files(save(tmp_path, name))

    expect(page.locator("[data-uploaded]")).to_have_count(1)
    expect(page.get_by_role("button", name="Remove: cv.png")).to_be_visible()


def attached(application: Application, name: str) -> Attachment:
    """A file that the application has."""
    content, holder = documents.ALL[name], uploads.holder_of("browser", name)
    row = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=holder,
        name=f"cv.{name.lower()}",
        size_bytes=len(content),
        content=[content],
    )
    uploads.attach_later([row.id], application_id=application.id, question_id=None, holder=holder)
    return row


def is_drawn(page: Page) -> bool:
    """Tell whether a canvas shows something dark on white."""
    return bool(
        page.evaluate(
            """() => [...document.querySelectorAll(".attachment-pages canvas")].every((canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return data.some((value, place) => place % 4 === 0 && value < 100);
        })"""
        )
    )


def test_a_reviewer_reads_each_kind_of_file(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    files = {name: attached(world.my_place, name) for name in ("PDF", "DOCX", "TXT", "PNG", "JPEG")}
    page = browser_page()
    sign_in_staff(page.context, site.url, member_of(world.company, Role.RECRUITER))
    page.goto(f"/company/applications/{world.my_place.id}/")
    page.get_by_role("link", name="cv.pdf").click()

    expect(page.locator(".attachment-pages canvas")).to_have_count(2)
    assert is_drawn(page)
    axe(page)

    for name in files:
        page.goto(f"/company/applications/{world.my_place.id}/files/{files[name].id}/view/")
        expect(page.get_by_role("link", name="Download")).to_be_visible()
        axe(page)
    page.goto(f"/company/applications/{world.my_place.id}/files/{files['PNG'].id}/view/")
    expect(page.get_by_role("img", name="cv.png")).to_be_visible()
    assert page.evaluate("document.querySelector('.attachment-picture').naturalWidth") == 1


def test_a_pdf_can_be_downloaded_without_javascript_and_fits_a_phone(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    file = attached(world.my_place, "PDF")
    for page in (browser_page("narrow"), browser_page(javascript=False)):
        sign_in_staff(page.context, site.url, world.owner)
        page.goto(f"/company/applications/{world.my_place.id}/files/{file.id}/view/")
        expect(page.get_by_role("link", name="Download")).to_be_visible()
        no_sideways_scroll(page)
