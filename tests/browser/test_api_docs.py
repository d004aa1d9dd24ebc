"""The API's documentation in our frame."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.helpers import axe, axe_in_the_dark, narrow, no_sideways_scroll, shot
from tests.browser.site import OpenPage, Site

pytestmark = [pytest.mark.slow, pytest.mark.in_turns(3)]

GROUND = "part => getComputedStyle(part).backgroundColor"
INK = "part => getComputedStyle(part).color"
INKS = f"parts => [...new Set(parts.map({INK}))]"


def test_the_documentation_can_be_used_by_everybody(browser_page: OpenPage, site: Site) -> None:
    page = browser_page()

    page.goto("/api/v1/docs/")
    page.locator(".opblock-tag").first.wait_for(timeout=30_000)

    axe(page, apart_from=["aria-allowed-role"])  # the library has a second main, which we demote
    shot(page, "api-docs-light")
    with narrow(page):
        no_sideways_scroll(page)
        axe(page, apart_from=["aria-allowed-role"])
        shot(page, "api-docs-narrow")
    no_sideways_scroll(page)
    for stamp in page.locator(".info .title small pre").all():  # white on the ground of its frame
        assert stamp.evaluate(GROUND) == "rgba(0, 0, 0, 0)"
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock .headers").first.wait_for()
    axe(page, apart_from=["aria-allowed-role"])
    _headers_have_the_ink_of_the_page(page)
    page.emulate_media(color_scheme="dark")
    page.locator("html.dark-mode").wait_for()
    page.wait_for_function("() => !document.getAnimations().length")  # colours that still change
    _headers_have_the_ink_of_the_page(page)
    axe_in_the_dark(page)
    shot(page, "api-docs-dark")
    page.get_by_role("link", name="Next in Line").click()
    page.wait_for_url("**/")


def _headers_have_the_ink_of_the_page(page: Page) -> None:
    inks = page.locator(".opblock .headers td").evaluate_all(INKS)
    assert inks == [page.locator("#swagger-ui").evaluate(INK)]
