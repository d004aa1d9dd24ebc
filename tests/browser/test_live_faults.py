"""A live page goes on after an error in its own script, and says when it is not up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.live.announcer import start_announcing, stop_announcing
from tests.browser.helpers import sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow

_ZONE = """
    const options = Intl.DateTimeFormat.prototype.resolvedOptions;
    Intl.DateTimeFormat.prototype.resolvedOptions = function () {
      return { ...options.call(this), timeZone: "Etc/Unknown" };
    };
"""
PAGES, SLOTS = 8, 4
_LIVE_OR_POLLING = re.compile(r"^(Live|As of \d\d:\d\d)$")


@pytest.fixture(autouse=True)
def announcing(site: Site) -> Iterator[None]:
    """Announce changes made by the test's own process, as in production."""
    start_announcing()
    yield
    stop_announcing()


@pytest.fixture
def job_id(company: Company) -> UUID:
    """An open job with one seat, taken, and someone who waits."""
    job_id = factories.job(company_id=company.id)
    factories.applications(job_id, 2)
    return job_id


def open_board(page: Page, site: Site, company: Company, job_id: UUID) -> None:
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job_id}/")
    expect(page.locator("#live-state")).to_have_text("Live")


def test_a_page_that_cannot_show_news_says_so_and_recovers(
    page: Page, site: Site, company: Company, job_id: UUID, expected_problems: list[str]
) -> None:
    expected_problems.append("on purpose")
    page.add_init_script(
        """
        const importNow = Document.prototype.importNode;
        Document.prototype.importNode = function (...how) {
          if (window.isBroken) throw new Error("on purpose");
          return importNow.apply(this, how);
        };
        """
    )
    open_board(page, site, company, job_id)
    page.evaluate("window.isBroken = true")

    factories.application(job_id, factories.applicant(name="Brand New"))

    state = page.locator("#live-state")
    expect(state).to_contain_text("This page could not update itself.")
    expect(state.get_by_role("link", name="Reload")).to_be_visible()
    page.evaluate("window.isBroken = false")
    expect(page.locator("#live")).to_contain_text("Brand New")
    expect(state).to_have_text("Live")


def test_an_error_in_what_is_only_comfort_does_not_stop_the_page(
    page: Page, site: Site, company: Company, job_id: UUID, expected_problems: list[str]
) -> None:
    expected_problems.append("on purpose")
    fail = "() => { throw new Error('on purpose'); }"
    open_board(page, site, company, job_id)
    page.evaluate(f"Object.defineProperty(Element.prototype, 'ariaLabel', {{ get: {fail} }})")

    for name in ("Brand New", "Next One"):
        factories.application(job_id, factories.applicant(name=name))
        expect(page.locator("#live")).to_contain_text(name)

    expect(page.locator("#live-state")).to_have_text("Live")


def test_a_browser_that_does_not_know_its_zone_shows_utc_and_goes_on(
    page: Page, site: Site, company: Company, job_id: UUID
) -> None:
    page.add_init_script(_ZONE)
    open_board(page, site, company, job_id)

    factories.application(job_id, factories.applicant(name="Brand New"))

    expect(page.locator("#live")).to_contain_text("Brand New")
    expect(page.locator("#zone-words")).to_have_text("UTC")
    cookies = {each["name"]: each["value"] for each in page.context.cookies()}
    assert cookies["time_zone"] == "UTC"


def test_many_live_pages_leave_the_browser_connections_for_its_requests(
    browser_page: OpenPage, site: Site, company: Company, job_id: UUID
) -> None:
    first = browser_page()
    open_board(first, site, company, job_id)
    others = [first.context.new_page() for _ in range(PAGES - 1)]

    for page in others:
        page.goto(f"/company/jobs/{job_id}/", timeout=10_000)

    for page in others:
        expect(page.locator("#live-state")).to_have_text(_LIVE_OR_POLLING)
    live = [page for page in [first, *others] if page.locator("#live-state").inner_text() == "Live"]
    assert len(live) == SLOTS
    live[0].close()

    waiting = [page for page in others if page not in live]
    expect(waiting[0].locator("#live-state")).to_have_text("Live")
