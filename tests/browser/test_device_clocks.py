"""Countdowns are right on devices that sleep, or whose clock is wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.mail.links import LinkedOffer, make_offer_token
from tests.browser.device_clocks import give_clocks, set_clock, sleep
from tests.browser.helpers import sign_in_applicant, sign_in_staff
from tests.browser.site import Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import database_now

pytestmark = [pytest.mark.slow, pytest.mark.in_turns(3)]

SLEEP_SECONDS = 6
WRONG_SECONDS = 2  # right within so many seconds
SOON_SECONDS = 12
SECONDS_OF = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}


@pytest.fixture
def offered(company: Company, site: Site) -> Any:
    """An offer, to be confirmed within minutes."""
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    return factories.application(job)


def open_page(page: Page, site: Site, company: Company, offered: Any, path: str) -> None:
    """Open a page with the offer's countdown, as the person whom it concerns."""
    if path.startswith("/me/"):
        person = factories.Applicant.objects.get(id=offered.applicant_id)
        sign_in_applicant(page.context, site.url, person)
    elif path.startswith("/company/"):
        sign_in_staff(page.context, site.url, member_of(company))
    page.goto(path)


def error_seconds(page: Page) -> float:
    """Return by how much the time left that the page shows is wrong, in seconds.

    The browser answers at a moment between two readings of the clock, which can be far apart.
    """
    countdown = page.locator("count-down").first
    until = datetime.fromisoformat(str(countdown.get_attribute("until")))
    most = (until - database_now()).total_seconds()
    words = countdown.inner_text()
    least = (until - database_now()).total_seconds()
    shown = sum(int(n) * SECONDS_OF[unit] for n, unit in re.findall(r"(\d+) (d|h|min|s)\b", words))
    assert 60 < least < most < 3_600, "shown without seconds, no error could be seen"
    return max(least - shown, shown - most, 0)


def soon(page: Page, condition: Callable[[], object]) -> None:
    """See that something is so before the page looks without a reason, which it does after 25 s."""
    end = time.monotonic() + SOON_SECONDS
    while not condition():
        assert time.monotonic() < end, "it never was so"
        page.wait_for_timeout(100)


@pytest.mark.parametrize(
    "path", ["/me/applications/{id}/", "/confirm/{link}/", "/company/jobs/{job}/", "/company/"]
)
def test_after_a_sleep_the_time_left_is_right_at_once(
    page: Page, site: Site, company: Company, offered: Any, path: str
) -> None:
    give_clocks(page)
    seq = factories.row_of(offered.job_id).seq
    link = make_offer_token(LinkedOffer(offered.id, seq))
    names = {"id": offered.id, "job": offered.job_id, "link": link}
    open_page(page, site, company, offered, path.format(**names))
    soon(page, lambda: error_seconds(page) <= WRONG_SECONDS)

    sleep(page, SLEEP_SECONDS)

    soon(page, lambda: error_seconds(page) <= WRONG_SECONDS)


@pytest.mark.parametrize("error", [7_200, -7_200])
def test_a_device_whose_clock_is_wrong_shows_the_right_time_left(
    page: Page, site: Site, company: Company, offered: Any, error: int
) -> None:
    give_clocks(page, error_seconds=error)

    open_page(page, site, company, offered, f"/me/applications/{offered.id}/")

    soon(page, lambda: error_seconds(page) <= WRONG_SECONDS)
    sleep(page, SLEEP_SECONDS)
    soon(page, lambda: error_seconds(page) <= WRONG_SECONDS)


@pytest.mark.parametrize("seconds", [1_800, -1_800])
def test_a_clock_that_is_set_while_the_page_is_open_changes_nothing(
    page: Page, site: Site, company: Company, offered: Any, seconds: int
) -> None:
    give_clocks(page)
    open_page(page, site, company, offered, f"/me/applications/{offered.id}/")

    set_clock(page, seconds)
    page.wait_for_timeout(1_500)

    soon(page, lambda: error_seconds(page) <= WRONG_SECONDS)
    expect(page.locator("main")).not_to_contain_text("time is up")


def test_after_a_sleep_a_live_page_looks_at_once_and_listens_anew(
    page: Page, site: Site, company: Company, offered: Any
) -> None:
    give_clocks(page)
    open_page(page, site, company, offered, f"/company/jobs/{offered.job_id}/")
    expect(page.locator("#live-state")).to_have_text("Live")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    sleep(page, SLEEP_SECONDS)

    soon(page, lambda: [url for url in asked if "fragment=1" in url])
    soon(page, lambda: [url for url in asked if re.search(r"/live/(?!clock$)", url)])
    expect(page.locator("#live-state")).to_have_text("Live")
