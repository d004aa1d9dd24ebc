"""Countdowns that have run out say so in a sentence, which needs room at every width."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from tests.browser.helpers import sign_in_applicant, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow
WIDTHS = (1280, 1024, 960, 881, 880, 640, 480, 360, 320)
# Gives what is wrong in the moment in which all deadlines have passed, before the page asks again;
# with times as long as they get, whatever today's date is.
FAULTS = """() => {
    const long = "Wed 26 Nov, 20:00:00 (Buenos Aires)";
    for (const one of document.querySelectorAll("main time")) {
      one.textContent = one.textContent.replace(/^\\w+ \\d+ \\w+, .*$/, long);
    }
    const clocks = [...document.querySelectorAll("count-down")];
    for (const clock of clocks) {
      clock.setAttribute("until", new Date(0).toISOString());
      clock.tick();
    }
    const text = (one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return range.getBoundingClientRect();
    };
    const over = (a, b) => a.right > b.left + 1 && b.right > a.left + 1
      && a.bottom > b.top + 1 && b.bottom > a.top + 1;
    const found = clocks.length ? [] : ["no countdown"];
    for (const clock of clocks) {
      if (!clock.textContent.startsWith("time is up")) found.push(clock.outerHTML);
      const cell = clock.closest(".chip, li, section, .card");
      for (const other of cell.parentElement.children) {
        if (other !== cell && over(text(clock), text(other))) found.push(other.outerHTML);
      }
    }
    const most = document.documentElement.clientWidth;
    const boxes = ".panel, .slot, .job-row";
    for (const one of document.querySelectorAll(`main :is(${boxes}) :not(:has(*))`)) {
      if (one.closest("svg, .table-scroll, .vh, select")) continue;
      const [panel, box] = [one.closest(boxes).getBoundingClientRect(), text(one)];
      if (box.right > Math.min(most, panel.right) + 1) found.push(one.outerHTML.slice(0, 120));
    }
    return found;
}"""


@pytest.fixture
def offered(company: Company, site: Site) -> Any:
    """An offer, in a job with others who wait."""
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    application = factories.application(job)
    factories.applications(job, 2)
    return application


def test_no_countdown_that_ran_out_covers_what_is_beside_it(
    browser_page: OpenPage, site: Site, company: Company, offered: Any
) -> None:
    staff, applicant = browser_page(), browser_page()
    sign_in_staff(staff.context, site.url, member_of(company))
    person = factories.Applicant.objects.get(id=offered.applicant_id)
    sign_in_applicant(applicant.context, site.url, person)

    for page, path in (
        (staff, "/company/"),
        (staff, f"/company/jobs/{offered.job_id}/"),
        (staff, f"/company/applications/{offered.id}/"),
        (applicant, "/me/"),
        (applicant, f"/me/applications/{offered.id}/"),
        (applicant, f"/me/applications/{offered.id}/withdraw/"),
    ):
        page.goto(path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(FAULTS) == [], f"{path} at {width}"
