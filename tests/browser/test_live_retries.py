"""A page whose streams break tries again by itself: soon at first, then ever less often."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from tests.browser.helpers import sign_in_staff
from tests.browser.page_clock import pass_time, stop_clock
from tests.browser.site import Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow

# The first so many streams break at once; those after them are real. Each random number is smaller
# than the one before, so that a look is always planned for before the moment of the next stream.
SMALLEST_STEP_MS = 100
_BREAKING = """
    window.tried = 0;
    let left = 1;
    Math.random = () => (left = Math.max(0, left - 0.12));
    const Real = EventSource;
    window.EventSource = function (address) {
      if (window.tried++ >= %d) return new Real(address);
      const broken = { close() {}, addEventListener() {} };
      queueMicrotask(() => broken.onerror());
      return broken;
    };
"""


def board_with_breaking_streams(page: Page, site: Site, company: Company, count: int) -> None:
    """Open a job's board whose first streams break, with a clock that stands still."""
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto("/company/")  # from now on the server knows the time zone
    stop_clock(page)
    page.add_init_script(_BREAKING % count)
    page.goto(f"/company/jobs/{factories.job(company_id=company.id)}/")


def test_a_page_whose_first_streams_broke_is_live_before_its_next_usual_look(
    page: Page, site: Site, company: Company
) -> None:
    board_with_breaking_streams(page, site, company, 3)
    expect(page.locator("#live-state")).to_have_attribute("data-state", "poll")

    pass_time(page, 8, SMALLEST_STEP_MS)  # waits of at most 1, 2 and 4 s; usual looks are after 25

    assert page.evaluate("window.tried") == 4
    expect(page.locator("#live-state")).to_have_text("Live")


def test_where_every_stream_breaks_the_page_asks_ever_less_often(
    page: Page, site: Site, company: Company
) -> None:
    board_with_breaking_streams(page, site, company, 1_000)
    looks: list[str] = []
    page.on("request", lambda request: looks.append(request.url))

    pass_time(page, 120)
    tried, looked = page.evaluate("window.tried"), len(looks)
    pass_time(page, 120)

    assert 6 <= tried <= 10  # after 1, 2, 4, 8, 16, 32 seconds, or half of them
    assert page.evaluate("window.tried") - tried in (2, 3, 4)  # every 30 to 60 seconds
    assert looked <= tried + 5
    assert len(looks) - looked <= 9  # those, and the usual ones every 30 seconds
    expect(page.locator("#live-state")).to_have_attribute("data-state", "poll")
