"""Importing people with a browser: the form, the page that moves by itself, axe, phone, dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipeline.files.imports import tasks
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.tasks import check_rows
from pipeline.models import ImportRun
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World

pytestmark = pytest.mark.slow

FILE = "name,email\n" + "".join(f"Person {n},p{n}@import.example\n" for n in range(400))
BAD = ",nameless@x.org\nLong,not an address that anyone could have at all\nP,p1@import.example\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people of the autumn fair.csv"
    path.write_text(FILE + BAD, encoding="utf-8")
    return path


def test_a_file_is_imported_and_the_page_follows(
    owner: Hands,
    world: World,
    site: Site,
    browser_page: OpenPage,
    file: Path,
    expected_problems: list[str],
) -> None:
    expected_problems.append("422")  # the form without a file
    page = owner.page
    page.goto(f"/company/jobs/{world.job}/")
    owner.follow("Import people")
    owner.press("Import")
    expect(page.locator("#main")).to_contain_text("Choose a file.")
    axe(page)
    shot(page, "import_refused-light")
    page.get_by_label("CSV file").set_input_files(file)
    owner.press("Import")
    expect(page.locator("#main")).to_contain_text("Waiting")
    run = ImportRun.objects.filter(file__job_id=world.job).latest("file_id")

    admit_rows(run.file_id, is_cancelled=lambda: True)
    expect(page.locator(".progress-words")).to_contain_text("200 of 403 rows")
    admit_rows(run.file_id)

    expect(page.locator(".panel-head .chip")).to_have_text("Done")
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(4)
    with page.expect_download() as report:
        owner.follow("Download the report")
    assert "no name" in report.value.path().read_text(encoding="utf-8-sig")
    _looks_well(page.url, page, site, world, browser_page)
    owner.follow("To the pipeline")
    expect(page.locator("h1")).to_be_visible()


def test_a_file_is_checked_imported_and_undone(
    owner: Hands, world: World, site: Site, browser_page: OpenPage, file: Path
) -> None:
    page = owner.page
    page.goto(f"/company/jobs/{world.job}/import/")
    page.get_by_label("CSV file").set_input_files(file)
    owner.press("Check only")
    expect(page.locator(".panel-head .chip")).to_have_text("Checking")
    run = ImportRun.objects.filter(file__job_id=world.job).latest("file_id")

    check_rows(run.file_id)
    expect(page.locator("#main")).to_contain_text("Nobody was added and nobody was emailed.")
    axe(page)
    shot(page, "import_checked-light")
    owner.press("Import 400 people")
    admit_rows(run.file_id)
    expect(page.locator(".panel-head .chip")).to_have_text("Done")
    page.get_by_text("Undo the import…").click()
    _looks_well(page.url, page, site, world, browser_page)
    page.get_by_role("button", name="Remove up to").click()
    tasks.undo(run.file_id)

    expect(page.locator("#main")).to_contain_text("The import was undone.")
    axe(page)
    shot(page, "import_undone-light")


def _looks_well(
    address: str, light: Page, site: Site, world: World, browser_page: OpenPage
) -> None:
    dark, narrow = browser_page(dark=True), browser_page("narrow")
    axe(light)
    shot(light, "import_result-light")
    for page in (dark, narrow):
        sign_in_staff(page.context, site.url, world.owner)
        page.goto(address)
    axe(dark)
    shot(dark, "import_result-dark")
    no_sideways_scroll(narrow)
    shot(narrow, "import_result-narrow")
