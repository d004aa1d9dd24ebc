"""Background work in a browser, with a worker beside the server that really does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company, Role
from tasks.models import Schedule, Task
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.background_tasks import dead, ended, started, status_of
from tests.support.task_workers import TaskWorker
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

BAR = "#live progress"


@pytest.fixture
def recruiter(page: Page, site: Site, company: Company) -> Hands:
    """The hands of one of its recruiters."""
    sign_in_staff(page.context, site.url, member_of(company, Role.RECRUITER))
    return Hands(page, "mouse")


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[TaskWorker]:
    """A worker that takes the tasks of the server's database."""
    process = TaskWorker(site.environment, tmp_path / "worker.log", "--slots", "1")
    yield process
    process.process.kill()
    process.process.wait()


@pytest.mark.usefixtures("worker")
def test_a_task_is_started_seen_moving_and_cancelled(recruiter: Hands) -> None:
    page = recruiter.page
    page.goto("/company/work/")
    shows(page, "Nothing has run yet")

    recruiter.fill("Seconds to sleep", "60")
    recruiter.press("Start task")
    page.wait_for_selector(f"{BAR}[value]", timeout=30_000)
    before = page.evaluate("(window.opened = true, document.querySelector('progress').value)")
    expect(page.locator(BAR)).not_to_have_js_property("value", before)
    assert page.locator(BAR).evaluate("bar => bar.value") > before
    assert page.evaluate("window.opened")  # it was the same page all the time
    expect(page.locator("#live-state")).to_have_attribute("data-state", "poll")
    expect(page.locator("[data-poll-seconds]").first).to_have_attribute("data-poll-seconds", "2")
    axe(page)
    shot(page, "work-moving")

    recruiter.press("Cancel")
    expect(page.locator(".task-row .chip")).to_have_text("Cancelled")
    expect(page.locator(BAR)).to_have_count(0)


@pytest.mark.usefixtures("worker")
def test_all_tasks_that_match_are_cancelled_after_a_question(recruiter: Hands) -> None:
    page = recruiter.page
    page.goto("/company/work/")
    recruiter.fill("Seconds to sleep", "60")
    recruiter.press("Start task")
    page.wait_for_selector(".task-row")

    page.goto("/company/work/cancel/")
    shows(page, "Cancel 1 task?")
    axe(page)
    page.locator("main button").click()

    shows(page, "1 task cancelled.")


def test_equal_tasks_unfold_and_fit(browser_page: OpenPage, site: Site, company: Company) -> None:
    for _ in range(5):
        ended(company, {"slept_seconds": 1})
    page = browser_page("narrow")
    sign_in_staff(page.context, site.url, member_of(company, Role.RECRUITER))
    page.goto("/company/work/")
    expect(page.locator(".task-row:visible")).to_have_count(1)

    page.locator("summary", has_text="4 more like this").click()

    rows = page.locator(".task-row:visible")
    expect(rows).to_have_count(5)
    assert len({(row.bounding_box() or {})["x"] for row in rows.all()}) == 1
    no_sideways_scroll(page)
    axe(page)


@pytest.mark.usefixtures("worker")
def test_a_dead_letter_is_looked_into_edited_and_replayed(
    recruiter: Hands, company: Company, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")  # by which a form is refused
    page = recruiter.page
    task = started(company, payload={"seconds": 0, "then": "fatal"})
    eventually(lambda: status_of(task) == "DEAD")

    page.goto("/company/work/dead/")
    recruiter.follow("Sleep 0 s, then fail without retries")
    page.locator("details.error-of summary").click()
    shows(page, "tasks/demo_task.py")
    recruiter.press("Run task again")
    eventually(lambda: page.locator(".event", has_text="Queued to run again").count() == 1)
    expect(page.locator("details.error-of")).to_have_count(2)

    recruiter.follow("Edit and run again")
    recruiter.fill("Payload", '{"seconds": "soon"}')
    recruiter.press("Run again with this")
    expect(page.locator("#id_payload_error")).to_contain_text("seconds: 'soon'")
    expect(page.get_by_role("textbox", name="Payload")).to_have_value('{"seconds": "soon"}')
    recruiter.fill("Payload", '{"seconds": 0}')
    recruiter.press("Run again with this")

    expect(page.locator("h1 + p .chip")).to_have_text("Done")
    shows(page, "with an edited payload")


def test_dead_letters_are_replayed_all_at_once_and_discarded(
    recruiter: Hands, company: Company
) -> None:
    page = recruiter.page
    letter = dead(company, payload={"seconds": 9})

    page.goto(f"/company/work/{letter}/")
    recruiter.follow("Discard…")
    recruiter.press("Discard task")
    shows(page, "A task that fails every attempt appears here.")
    axe(page)
    shot(page, "dead_letters-none")
    assert status_of(letter) == "DISCARDED"

    letters = [dead(company), dead(company)]
    page.goto("/company/work/dead/")
    recruiter.press("Run all 2 again")
    shows(page, "2 tasks queued to run again.")
    assert {status_of(each) for each in letters} == {"PENDING"}


def test_a_type_is_paused_and_resumed(page: Page, site: Site, company: Company) -> None:
    sign_in_staff(page.context, site.url, member_of(company, Role.RECRUITER))
    hands = Hands(page, "keyboard")
    started(company)
    page.goto("/company/work/types/")

    hands.press("Pause (Sleep)")
    shows(page, "Paused by staff")
    hands.press("Resume (Sleep)")

    shows(page, "Sleep has resumed.")
    assert "Paused by" not in page.locator("#main").inner_text()


def test_a_schedule_is_made_changed_switched_off_and_deleted(
    browser_page: OpenPage, site: Site, company: Company
) -> None:
    page = browser_page("narrow", javascript=False)
    sign_in_staff(page.context, site.url, member_of(company, Role.OWNER))
    hands = Hands(page, "no JavaScript")
    factories.job(company_id=company.id)
    page.goto("/company/work/schedules/new/")

    hands.choose("What to run", "Export of the log")
    hands.choose("How often", "Every day")
    hands.press("Show the next five runs")
    expect(page.locator(".runs li")).to_have_count(5)
    assert Schedule.objects.count() == 0
    no_sideways_scroll(page)

    hands.fill("Name", "The log, every day")
    hands.choose("For which job", "Engineer")
    hands.press("Create schedule")
    shows(page, "Every day at 08:00")

    hands.follow("Edit The log, every day")
    hands.choose("How often", "Custom (cron expression)")
    hands.fill("Cron expression", "15 2 * * 1,3")
    hands.press("Save schedule")
    shows(page, "15 2 * * 1,3")
    hands.press("Switch off The log, every day")
    shows(page, "No next run")
    no_sideways_scroll(page)

    hands.follow("Delete… The log, every day")
    hands.press("Delete schedule")
    shows(page, "No schedules yet")
    assert (Schedule.objects.count(), Task.objects.count()) == (0, 0)
