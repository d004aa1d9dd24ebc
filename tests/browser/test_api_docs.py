"""The API's documentation in our frame."""

from __future__ import annotations

import pytest

from tests.browser.helpers import axe, axe_in_the_dark, no_sideways_scroll, shot
from tests.browser.site import OpenPage, Site

pytestmark = pytest.mark.slow

GROUND = "part => getComputedStyle(part).backgroundColor"
INK = "part => getComputedStyle(part).color"
INKS = f"parts => [...new Set(parts.map({INK}))]"


@pytest.mark.parametrize(
    ("kind", "dark"), [("desktop", False), ("desktop", True), ("narrow", False)]
)
def test_the_documentation_can_be_used_by_everybody(
    browser_page: OpenPage, site: Site, kind: str, dark: bool
) -> None:
    page = browser_page(kind, dark=dark)

    page.goto("/api/v1/docs/")
    page.locator(".opblock-tag").first.wait_for(timeout=30_000)

    shot(page, f"api-docs-{kind}-{'dark' if dark else 'light'}")
    no_sideways_scroll(page)
    if dark:
        axe_in_the_dark(page)
    else:
        axe(page, apart_from="aria-allowed-role")  # the library has a second main, which we demote
    for stamp in page.locator(".info .title small pre").all():  # white on the ground of its frame
        assert stamp.evaluate(GROUND) == "rgba(0, 0, 0, 0)"
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock .headers").first.wait_for()
    inks = page.locator(".opblock .headers td").evaluate_all(INKS)
    assert inks == [page.locator("#swagger-ui").evaluate(INK)]
    page.get_by_role("link", name="Next in Line").click()
    page.wait_for_url("**/")
