"""An applicant saves a receipt and checks it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import axe, sign_in_applicant
from tests.browser.site import Site
from tests.support import factories

pytestmark = pytest.mark.slow


def test_a_receipt_is_checked(page: Page, site: Site) -> None:
    person = factories.applicant()
    application = factories.application(factories.job(), person)
    sign_in_applicant(page.context, site.url, person)
    page.goto(f"/me/applications/{application.id}/")
    page.locator("#proof > summary").click()
    shown = re.search(r"Event\s+(\d+)\s+Hash\s+(\w{64})", page.locator("main").inner_text())
    assert shown

    page.get_by_role("link", name="Check a receipt").click()
    page.get_by_label("Event number").fill(shown[1])
    page.get_by_label("Hash").fill(shown[2])
    page.get_by_role("button", name="Check the history").click()

    expect(page.get_by_role("status").first).to_contain_text("Nothing up to your receipt")
    axe(page)
