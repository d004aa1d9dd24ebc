"""Test mode in a browser: the sandbox is made, a miss is brought forward, its email is read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from jobs.sandboxes import find_sandbox
from pipeline.models import Event
from tests.browser.buttons import shows
from tests.browser.helpers import (
    axe,
    axe_in_the_dark,
    narrow,
    no_sideways_scroll,
    shot,
    sign_in_staff,
)
from tests.browser.pointer import Hands
from tests.browser.site import Site
from tests.support.accounts import member_of
from tests.support.sandboxes import line_with_offers
from tests.support.task_workers import TaskWorker

pytestmark = pytest.mark.slow


def looks_right(page: Page, name: str) -> None:
    """Check a page in light, in dark and on the narrowest phone."""
    axe(page)
    shot(page, f"{name}-light")
    axe_in_the_dark(page)
    shot(page, f"{name}-dark")
    page.emulate_media(color_scheme="light")
    with narrow(page):
        no_sideways_scroll(page)
        shot(page, f"{name}-narrow")


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[TaskWorker]:
    """A worker that composes the sandbox's emails, in the server's database."""
    process = TaskWorker(site.environment, tmp_path / "worker.log", "--slots", "1")
    yield process
    process.end()


@pytest.mark.usefixtures("worker")
def test_an_owner_brings_a_missed_deadline_forward(
    page: Page, site: Site, company: Company
) -> None:
    sign_in_staff(page.context, site.url, member_of(company))
    hands = Hands(page, "mouse")
    page.goto("/company/test/")
    looks_right(page, "test-mode")

    hands.press("Create the sandbox")
    shows(page, "You are in test mode now.")
    sandbox = find_sandbox(company.id)
    assert sandbox
    job, _ = line_with_offers(sandbox, people=3)
    page.get_by_label("7 days").check()
    hands.press("Move the clock")

    shows(page, "The clock was moved forward by 7 days.")
    looks_right(page, "test-clock")
    assert Event.objects.filter(job_id=job, event="DECAYED").exists()
    emails = page.locator("main a[href*='/company/test/emails/']")
    page.goto("/company/test/emails/")
    end = time.monotonic() + 60
    while not emails.count() and time.monotonic() < end:
        page.wait_for_timeout(500)
        page.reload()
    looks_right(page, "test-emails")
    emails.first.click()
    expect(page.locator("h1")).to_have_count(1)
    looks_right(page, "test-email")
    page.goto(f"/company/jobs/{job}/")
    expect(page.locator("body")).to_contain_text("Nothing here is live")
