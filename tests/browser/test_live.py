"""Pages that keep themselves up to date, seen through a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Locator, Page, expect

from jobs.models import Company
from pipeline.live.announcer import start_announcing, stop_announcing
from tests.browser.helpers import sign_in_applicant, sign_in_staff
from tests.browser.page_clock import pass_time, stop_clock
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import let_time_pass
from tests.support.server import serving

pytestmark = pytest.mark.slow

AS_OF = re.compile(r"^As of \d\d:\d\d$")
GONE = r"ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY"


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


def board(page: Page, url: str, company: Company, job_id: UUID) -> Page:
    """The job's board, open in a browser in which an owner is signed in, and listening."""
    sign_in_staff(page.context, url, member_of(company))
    page.goto(f"{url}/company/jobs/{job_id}/")
    return page


def state_of(page: Page) -> Locator:
    """Return the page's statement about being live."""
    return page.locator("#live-state")


def expect_polling(page: Page) -> None:
    """See that the page looks by itself, and says as of when it is."""
    expect(state_of(page)).to_have_attribute("data-state", "poll")
    expect(state_of(page)).to_have_text(AS_OF)


def test_a_change_is_seen_at_once(page: Page, site: Site, company: Company, job_id: UUID) -> None:
    board(page, site.url, company, job_id)
    expect(state_of(page)).to_have_text("Live")
    person = factories.applicant(name="Brand New")

    factories.application(job_id, person)
    start = time.monotonic()

    expect(page.locator("#live")).to_contain_text("Brand New")
    assert time.monotonic() - start < 20  # without a stream, the page looks after 25 seconds


def test_what_one_does_in_one_browser_is_seen_in_another(
    browser_page: OpenPage, site: Site, company: Company, job_id: UUID
) -> None:
    person = factories.applicant(name="Noor")
    mine = factories.application(job_id, person)
    recruiter, applicant = browser_page(), browser_page("phone")
    board(recruiter, site.url, company, job_id)
    expect(state_of(recruiter)).to_have_text("Live")
    expect(recruiter.locator("#live")).to_contain_text("Noor")
    sign_in_applicant(applicant.context, site.url, person)
    applicant.goto(f"/me/applications/{mine.id}/")
    expect(state_of(applicant)).to_have_text("Live")

    from pipeline.services.leaving import withdraw

    for other in factories.line(job_id)[:1]:
        application = factories.Application.objects.get(id=other)
        withdraw(application_id=other, actor=factories.owner_of(application))

    expect(applicant.locator("#live")).to_contain_text(re.compile(r"next|first|1 of 1", re.I))


def test_the_tab_and_the_thanks_follow_what_is_so(page: Page, site: Site, company: Company) -> None:
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    person = factories.applicant()
    sign_in_applicant(page.context, site.url, person)
    page.goto(f"/jobs/{job_id}/")
    page.get_by_label("name").fill("Ana")
    page.get_by_role("button", name="Apply to").click()
    expect(page).to_have_title(re.compile(r"left · It is your turn\. Engineer · Next in Line$"))
    expect(page.locator(".messages")).to_contain_text("You have applied")
    expect(state_of(page)).to_have_text("Live")

    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()

    expect(page).to_have_title(re.compile("^You missed the deadline. .*Next in Line$"))
    expect(page.locator(".messages")).not_to_contain_text("You have applied")


def test_focus_scroll_open_details_and_typed_text_stay(
    page: Page, site: Site, company: Company, job_id: UUID
) -> None:
    board(page, site.url, company, job_id)
    expect(state_of(page)).to_have_text("Live")
    page.evaluate(
        """() => {
            const live = document.getElementById("live");
            live.insertAdjacentHTML("beforeend",
              '<form id="note"><label>Note <input id="text"></label></form>' +
              '<details id="more"><summary>More</summary>x</details>');
            live.querySelector("#more").open = true;
            live.querySelector("#text").focus();  // else an update now would take it away
            document.body.style.setProperty("min-height", "4000px");
        }"""
    )
    page.keyboard.type("half a sent")
    page.evaluate("scrollTo(0, 120)")

    factories.application(job_id, factories.applicant(name="Brand New"))

    expect(page.locator("#live")).to_contain_text("Brand New")
    assert page.input_value("#text") == "half a sent"
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.evaluate("scrollY") == 120


def test_without_javascript_the_page_says_from_when_it_is(
    browser_page: OpenPage, site: Site, company: Company, job_id: UUID
) -> None:
    page = board(browser_page(javascript=False), site.url, company, job_id)
    expect(state_of(page)).to_have_text(AS_OF)
    factories.application(job_id, factories.applicant(name="Brand New"))

    page.reload()

    expect(page.locator("#live")).to_contain_text("Brand New")


def test_while_the_server_is_away_the_page_says_so_and_then_recovers(
    page: Page,
    site: Site,
    company: Company,
    job_id: UUID,
    tmp_path: Path,
    expected_problems: list[str],
) -> None:
    expected_problems.append(GONE)
    with serving(site.environment, tmp_path / "first.log") as url:
        board(page, url, company, job_id)
        expect(state_of(page)).to_have_text("Live")
        port = int(url.rpartition(":")[2])

    expect(state_of(page)).to_have_text(re.compile(r"^As of \d\d:\d\d\. Reconnecting…$"))
    expect(page.locator("p.vh[aria-live=polite]")).to_contain_text("Reconnecting…")
    factories.application(job_id, factories.applicant(name="Brand New"))

    with serving(site.environment, tmp_path / "second.log", port=port):
        expect(state_of(page)).to_have_text("Live")
        expect(page.locator("#live")).to_contain_text("Brand New")


def test_where_streams_do_not_get_through_it_looks_by_itself(
    page: Page, site: Site, company: Company, job_id: UUID, expected_problems: list[str]
) -> None:
    expected_problems.append(r"ERR_FAILED")
    page.route("**/live/*", lambda route: route.abort())
    board(page, site.url, company, job_id)

    expect_polling(page)


def test_who_is_signed_out_meanwhile_is_told_and_can_reload(
    page: Page, site: Site, company: Company, job_id: UUID
) -> None:
    board(page, site.url, company, job_id)
    expect(state_of(page)).to_have_text("Live")
    page.context.clear_cookies()

    factories.application(job_id)

    expect(state_of(page)).to_contain_text("This page has changed for you.")
    expect(state_of(page).get_by_role("link", name="Reload")).to_be_visible()


def test_a_page_follows_what_it_has_come_to_show(
    page: Page, site: Site, company: Company, job_id: UUID
) -> None:
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto("/company/")
    expect(state_of(page)).to_have_text("Live")
    new = factories.job(company_id=company.id)

    with page.expect_response(re.compile(r"/live/")):
        factories.application(job_id)  # by which the page learns of the new job, too
    expect(state_of(page)).to_have_text("Live")
    with page.expect_response(re.compile(r"fragment=1"), timeout=20_000):
        factories.application(new)


def test_a_page_without_jobs_opens_no_stream(page: Page, site: Site, company: Company) -> None:
    asked: list[str] = []
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto("/company/")  # from now on the server knows the time zone
    page.on("request", lambda request: asked.append(request.url))
    stop_clock(page)
    page.goto("/company/")

    pass_time(page, 75)  # a look every 30 s, give or take 15 %

    expect_polling(page)
    assert [url for url in asked if "/live/" in url] == []
    assert len([url for url in asked if "fragment=1" in url]) in (2, 3)


def test_a_page_opened_in_the_background_asks_nothing_until_it_is_seen(
    page: Page, site: Site, company: Company, job_id: UUID
) -> None:
    page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => !window.seen})")
    stop_clock(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    board(page, site.url, company, job_id)

    pass_time(page, 120)

    assert [url for url in asked if "/live/" in url or "fragment=1" in url] == []
    page.evaluate("window.seen = true; document.dispatchEvent(new Event('visibilitychange'))")
    expect(state_of(page)).to_have_text("Live")


def test_the_public_page_moves_while_somebody_fills_in_the_form(
    page: Page, site: Site, job_id: UUID
) -> None:
    stop_clock(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.url}/jobs/{job_id}/")
    expect_polling(page)
    page.get_by_label("Name").fill("Ana Li")

    factories.applications(job_id, 1)
    pass_time(page, 40)

    assert [url for url in asked if "/live/" in url] == []  # nobody is signed in
    expect(page.locator("#live")).to_contain_text("2 waiting")
    expect(page.get_by_label("Name")).to_have_value("Ana Li")
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Email address").fill("ana@example.org")
    page.get_by_role("button", name=re.compile("Apply to")).click()
    expect(page.locator("h1")).to_contain_text("email")
