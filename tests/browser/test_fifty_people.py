"""Deciding on fifty people within two minutes, by someone who reads, types and clicks like one.

The short form decides on as few as a task carries out, within the same time for each.
"""

from __future__ import annotations

import time
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.models import Application
from pipeline.review.decisions import MOST_AT_ONCE, TASK
from tests.browser.buttons import shows
from tests.browser.helpers import sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.slow

SECONDS_EACH = 120 / 50
THINKING_MS = 500  # at least, before each click and each key


@pytest.fixture
def company() -> Company:
    return factories.company(name="Northwind Labs")


@pytest.fixture
def waiting(long_seconds: int) -> int:
    """The number of people who wait."""
    return 50 if long_seconds else MOST_AT_ONCE + 1


@pytest.fixture
def job(company: Company, waiting: int) -> UUID:
    """A job with one person in review, and the others waiting."""
    job_id = factories.job(company_id=company.id)
    factories.applications(job_id, waiting + 1)
    return job_id


@pytest.fixture
def board(browser_page: OpenPage, site: Site, company: Company, job: UUID) -> Page:
    """The job's pipeline, as the owner sees it."""
    page = browser_page()
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job}/")
    return page


def press(page: Page, name: str) -> None:
    """Press a button or follow a link after a moment of thought."""
    page.wait_for_timeout(THINKING_MS)
    control = page.get_by_role("button", name=name).or_(page.get_by_role("link", name=name))
    control.first.click()


def type_key(page: Page, key: str) -> None:
    """Press a key after a moment of thought."""
    page.wait_for_timeout(THINKING_MS)
    page.keyboard.press(key)


def rejected(job: UUID) -> int:
    return Application.objects.filter(job_id=job, outcome="REJECTED").count()


def test_one_after_the_other_with_a_reason(board: Page, job: UUID, waiting: int) -> None:
    begun = time.monotonic()
    board.wait_for_timeout(THINKING_MS)
    board.locator("#waitlist").get_by_role("link", name="Decide…").first.click()
    board.wait_for_timeout(THINKING_MS)
    board.get_by_label("Reason").select_option("NOT_A_MATCH")
    for _ in range(waiting - 1):
        before = board.locator("#decide-title").text_content()
        press(board, "Reject and next")
        expect(board.locator("#decide-title")).not_to_have_text(before or "")
        expect(board.get_by_label("Reason")).to_have_value("NOT_A_MATCH")
    press(board, "Reject")
    board.wait_for_url(f"**/jobs/{job}/*")  # at the notice
    took = time.monotonic() - begun

    assert rejected(job) == waiting
    assert took < waiting * SECONDS_EACH, took


def test_ticked_with_keys_and_rejected_together(board: Page, job: UUID, waiting: int) -> None:
    begun = time.monotonic()
    type_key(board, "j")  # the person in review, who stays
    for number in range(1, waiting + 1):
        type_key(board, "j")
        type_key(board, "x")
        expect(board.locator(".tick:checked")).to_have_count(number)
    press(board, "Decide on the ticked people")
    board.wait_for_timeout(THINKING_MS)
    board.get_by_label("Reason").select_option("NOT_A_MATCH")
    press(board, f"Reject {waiting} people")
    shows(board, f"0 of {waiting} people")
    took = time.monotonic() - begun
    run_due_tasks(TASK)  # what a worker does meanwhile

    shows(board, f"{waiting} people rejected.")
    assert rejected(job) == waiting
    assert took < waiting * SECONDS_EACH, took
