"""Weekly reports and prepared files in a browser; a worker beside the server makes the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.files.exports import LONG_LOG
from pipeline.models import StoredFile
from tasks.models import Schedule, Status, Task
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.crowd import crowd
from tests.support.handlers import Run
from tests.support.task_workers import TaskWorker
from tests.support.weeks import last_week, two_weeks

pytestmark = pytest.mark.slow

ZONE = "Europe/Berlin"
PATIENCE_MS = 30_000


@pytest.fixture
def owner(page: Page, site: Site, company: Company) -> Hands:
    sign_in_staff(page.context, site.url, member_of(company))
    return Hands(page, "mouse")


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[TaskWorker]:
    """A worker that takes the tasks of the server's database."""
    process = TaskWorker(site.environment, tmp_path / "worker.log", "--slots", "1")
    yield process
    process.end()


@pytest.mark.usefixtures("worker")
def test_a_report_is_made_read_and_made_every_monday(
    owner: Hands, site: Site, company: Company, browser_page: OpenPage
) -> None:
    job = two_weeks(company, ZONE)
    page = owner.page
    page.goto(f"/company/jobs/{job}/reports/")
    shows(page, "No reports yet")

    owner.press("Create last week")
    shows(page, "A report is being created")
    week = last_week(ZONE).monday
    link = page.locator(f"a[href$='/reports/{week}/']")
    expect(link).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("is being created")).to_have_count(0)
    owner.press("Create one every Monday")
    shows(page, "The next report covers the week before and is created Mon")
    assert Schedule.objects.get().zone == ZONE
    axe(page)
    owner.press("Stop Monday reports")
    shows(page, "Create one every Monday")

    link.click()
    shows(page, "2 seats were offered; 1 was confirmed, and 1 deadline was missed")
    with page.expect_download() as told:
        owner.follow("CSV")
    assert '"decided_hired","count",1,0' in Path(told.value.path()).read_text()
    axe(page)
    shot(page, "report-light")
    _can_be_used_by_everybody(page.url, browser_page, site, company)


def _can_be_used_by_everybody(
    address: str, browser_page: OpenPage, site: Site, company: Company
) -> None:
    dark = browser_page(dark=True)
    sign_in_staff(dark.context, site.url, member_of(company))
    dark.goto(address)
    axe(dark)
    shot(dark, "report-dark")
    narrow = browser_page("narrow")
    sign_in_staff(narrow.context, site.url, member_of(company))
    narrow.goto(address)
    no_sideways_scroll(narrow)
    shot(narrow, "report-narrow")


@pytest.mark.usefixtures("worker")
def test_other_rules_are_tried_on_the_past(owner: Hands, company: Company) -> None:
    job = two_weeks(company, ZONE)
    page = owner.page
    page.goto(f"/company/jobs/{job}/what-if/")
    page.get_by_label("Hours to confirm a seat").fill("2")

    owner.press("Replay with these rules")

    result = page.get_by_role("heading", name="What other rules would have done")
    expect(result).to_be_visible(timeout=PATIENCE_MS)
    shows(page, "Tried: 2 h to confirm.")
    axe(page)
    no_sideways_scroll(page)


LABELS = """
() => [...document.querySelectorAll(".chart-plot")].flatMap((plot) => {
  const found = [];
  const figure = plot.closest(".figure").getBoundingClientRect();
  for (const title of plot.querySelectorAll(".axis-title")) {
    const box = title.getBoundingClientRect();
    if (box.left < figure.left || box.right > figure.right) found.push(`cut: ${title.textContent}`);
  }
  const words = [...plot.querySelectorAll(".word")]
    .map((word) => [word.getBoundingClientRect(), word.textContent])
    .filter(([box]) => box.width)
    .sort(([one], [other]) => one.left - other.left);
  words.slice(1).forEach(([box, text], index) => {
    const [before, earlier] = words[index];
    if (box.left < before.right + 4) found.push(`meet: ${earlier} ${text}`);
  });
  return found;
})
"""


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_labels_of_charts_do_not_meet_and_are_not_cut(
    width: str, browser_page: OpenPage, site: Site, company: Company
) -> None:
    job = two_weeks(company, ZONE)
    page = browser_page(width)
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job}/figures/?range=all")
    shows(page, "Missed deadlines by hour of the day")

    assert page.evaluate(LABELS) == []

    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.evaluate(LABELS) == []


def test_a_long_log_is_prepared_and_taken_away(
    owner: Hands, company: Company, expected_problems: list[str]
) -> None:
    job = factories.job(company_id=company.id)
    crowd(job, LONG_LOG)
    page = owner.page
    page.goto(f"/company/jobs/{job}/timeline/")
    page.get_by_text("Export", exact=True).click()

    owner.press("Prepare the log (JSON lines)")
    shows(page, "Export the log of Engineer as JSON lines")
    task = Task.objects.get()
    run = Run("log.export", task.payload, company.id, task_id=task.id)
    Task.objects.update(status=Status.SUCCEEDED, result=run.result, finished_at=Now())
    page.reload()
    with page.expect_download() as told:
        owner.follow("Download")

    lines = Path(told.value.path()).read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, LONG_LOG + 3))
    expected_problems.append("404")
    StoredFile.objects.all().delete()
    page.goto(f"/company/files/{run.result['file_id']}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("This file is no longer available")
