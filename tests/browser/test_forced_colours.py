"""Forced colours, as in Windows' high contrast: borders say what backgrounds cannot."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.helpers import shot, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.browser.world import World

pytestmark = pytest.mark.slow

# Gives the current ones of a list of links, and those that look like their neighbours.
_CURRENT = """() => {
    const lookOf = (one) => {
      const look = getComputedStyle(one);
      return [look.borderTopWidth, look.borderBottomWidth, look.outlineStyle].join();
    };
    const current = [...document.querySelectorAll("[aria-current]:not(.rail-jobs *)")];
    const beside = (one) => one.closest("ul, nav").querySelectorAll("a");
    const hidden = current.filter((one) =>
      [...beside(one)].some((other) =>
        other !== one && other.localName === one.localName && !other.ariaCurrent
          && lookOf(other) === lookOf(one)));
    return [current.map((one) => one.textContent.trim()), hidden.map((one) => one.outerHTML)];
}"""


def unmarked(page: Page, path: str, name: str) -> tuple[list[str], list[str]]:
    """Return the words of the current links of a page, and those without a visible sign."""
    page.goto(path)
    shot(page, f"forced-{name}")
    words, hidden = page.evaluate(_CURRENT)
    return words, hidden


def test_the_current_tab_entry_and_range_have_a_visible_sign(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    page = browser_page(forced_colors="active")
    sign_in_staff(page.context, site.url, world.owner)
    job = f"/company/jobs/{world.offered.job_id}/"

    for path, name, expected in (
        (job, "board", ["Jobs", "Line"]),
        (f"{job}figures/", "figures", ["Jobs", "Figures", "Charts", "7 days"]),
        ("/company/work/", "work", ["Settings", "Tasks"]),
    ):
        words, hidden = unmarked(page, path, name)
        assert words == expected
        assert hidden == []
