"""A form whose session has ended, and the search of tasks, through a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company, Job
from tests.browser.helpers import sign_in_staff, usable_by_everybody
from tests.browser.site import Site
from tests.support.accounts import member_of
from tests.support.background_tasks import started

pytestmark = pytest.mark.slow
TEXT = "We look for a cook.\nThe second line."


def test_what_was_typed_is_sent_after_signing_in_again(
    page: Page, site: Site, company: Company, expected_problems: list[str]
) -> None:
    expected_problems.append("403")
    owner = member_of(company)
    sign_in_staff(page.context, site.url, owner)
    page.goto("/company/jobs/new/")
    page.get_by_label("Title").fill("Cook")
    page.get_by_role("textbox", name="Description (optional)").fill(TEXT)
    page.context.clear_cookies(name="sessionid")

    page.get_by_role("button", name="Open now").click()
    expect(page.locator("h1")).to_contain_text("You are signed out.")
    usable_by_everybody(page, "kept-form")
    sign_in_staff(page.context, site.url, owner)
    page.get_by_role("button", name="Send the form").click()

    expect(page.locator("h1")).to_have_text("Cook")
    assert Job.objects.get().posting.description.splitlines() == TEXT.splitlines()


def test_the_search_of_tasks_fits_every_window(page: Page, site: Site, company: Company) -> None:
    sign_in_staff(page.context, site.url, member_of(company))
    for _ in range(2):
        started(company, payload={"seconds": 60, "label": "Spring cleaning"})

    page.goto("/company/work/?q=spring")
    usable_by_everybody(page, "work-search")
    page.get_by_role("link", name="Cancel all that match…").click()

    expect(page.locator("h1")).to_have_text("Cancel 2 tasks?")
    usable_by_everybody(page, "work-cancel")
    page.get_by_role("button", name="Cancel them all").click()
    expect(page.locator(".messages")).to_contain_text("2 tasks cancelled.")
