"""A draw by lot in a browser: an owner announces it, an applicant sees that they take part."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page

from jobs.models import Job
from tests.browser.buttons import shows
from tests.browser.helpers import axe, sign_in_applicant, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow


@pytest.fixture
def hands(page: Page, site: Site) -> Hands:
    sign_in_staff(page.context, site.url, member_of(factories.company(name="Northwind Labs")))
    return Hands(page, "mouse")


def test_an_owner_announces_a_draw_and_an_applicant_takes_part(
    hands: Hands, browser_page: OpenPage, site: Site
) -> None:
    hands.page.goto("/company/jobs/new/")
    hands.fill("Title", "Lamp trimmer")
    hands.page.get_by_text("Rules of the line").click()
    hands.page.get_by_role("heading", name="Order").click()
    hands.page.get_by_label("Drawn by lot").check()
    hands.fill("Day of the draw", (datetime.now(UTC).date() + timedelta(days=9)).isoformat())
    hands.press("Open now")

    shows(hands.page, "The order is drawn by lot")
    axe(hands.page)
    job = Job.objects.get(posting__title="Lamp trimmer")
    mine, _ = factories.applications(job.id, 2)
    applicant = browser_page("narrow", dark=True)
    sign_in_applicant(applicant.context, site.url, mine.applicant)
    applicant.goto(f"/me/applications/{mine.id}/")
    shows(applicant, "You are in the draw.")
    axe(applicant)
    applicant.goto(f"/jobs/{job.id}/")
    axe(applicant)
