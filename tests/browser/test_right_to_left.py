"""Pages from right to left: nothing is cut off, and what points forwards points to the left."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from jobs.models import JobPosting
from tests.browser.helpers import no_sideways_scroll, sign_in_applicant, sign_in_staff
from tests.browser.site import Site
from tests.browser.world import World

pytestmark = pytest.mark.slow

ARABIC = "\u0646\u062c\u0627\u0631 \u0633\u0641\u0646 (\u062f\u0648\u0627\u0645)"
PAGES = {
    "applicant": ("openings", "opening", "job_facts", "my_application", "dashboard"),
    "company": (
        *("company_jobs", "board", "applications", "figures", "timeline", "replay"),
        *("job_settings", "new_job", "people", "work", "application"),
    ),
}


def turn(page: Page) -> None:
    """Let a page be read from right to left."""
    page.evaluate("document.documentElement.dir = 'rtl'")


def open_turned(page: Page, address: str) -> None:
    page.goto(address)
    turn(page)


def address_of(world: World, name: str) -> str:
    wanted: dict[str, dict[str, Any]] = {
        "my_application": {"application_id": world.offered.id},
        "application": {"application_id": world.reviewed.id},
    }
    of_job = ("opening", "job_facts", "board", "applications", "figures", "timeline", "replay")
    if name in (*of_job, "job_settings"):
        wanted[name] = {"job_id": world.job}
    return reverse(name, kwargs=wanted.get(name))


@pytest.mark.parametrize("who", PAGES)
def test_nothing_is_cut_off(page: Page, site: Site, world: World, who: str) -> None:
    JobPosting.objects.filter(job_id=world.job).update(title=ARABIC)
    if who == "company":
        sign_in_staff(page.context, site.url, world.owner)
    else:
        sign_in_applicant(page.context, site.url, world.applicant)

    for name in PAGES[who]:
        open_turned(page, address_of(world, name))
        for width in (1280, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            no_sideways_scroll(page)


def test_charts_and_pictures_keep_their_words_inside(page: Page, site: Site, world: World) -> None:
    sign_in_staff(page.context, site.url, world.owner)
    open_turned(page, address_of(world, "figures"))

    outside = page.evaluate(
        """() => [...document.querySelectorAll(".chart")].flatMap((chart) => {
            const box = chart.getBoundingClientRect();
            return [...chart.querySelectorAll("text")].filter((text) => {
              const {left, right, width} = text.getBoundingClientRect();
              return width && (left < box.left - 24 || right > box.right + 24);
            }).map((text) => text.textContent);
        })"""
    )

    expect(page.locator(".chart text").first).to_be_attached()
    assert outside == []


def test_the_line_begins_at_the_right_and_its_words_stay_readable(
    page: Page, site: Site, world: World
) -> None:
    sign_in_staff(page.context, site.url, world.owner)
    page.goto(address_of(world, "replay"))
    usual = centres(page)
    turn(page)

    mirrored = centres(page)

    assert usual == sorted(usual)
    assert mirrored == sorted(mirrored, reverse=True)
    words = page.locator(".line-picture text").first
    if words.count():
        assert words.evaluate("text => getComputedStyle(text).transform").startswith("matrix(-1,")
    scales = page.locator("#steps svg").evaluate_all(
        "icons => icons.map((icon) => getComputedStyle(icon).scale)"
    )
    assert scales == ["-1 1"] * 4


def centres(page: Page) -> list[float]:
    """Return where the people in line stand, from the first."""
    found: list[float] = page.locator(".person-shape circle").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map(({x, width}) => x + width / 2)"
    )
    assert len(found) > 1
    return found


def test_a_value_stands_at_the_side_of_its_label(page: Page, site: Site, world: World) -> None:
    sign_in_staff(page.context, site.url, world.owner)
    open_turned(page, address_of(world, "work"))

    apart = page.locator("dd.tile-value").evaluate_all(
        """values => values.map((value) => {
            const text = document.createRange();
            text.selectNodeContents(value);
            const ends = [text, value].map((one) => one.getBoundingClientRect().right);
            return Math.abs(ends[0] - ends[1]);
        })"""
    )

    assert apart
    assert max(apart) < 2


def test_long_titles_stay_inside_of_the_rail(page: Page, site: Site, world: World) -> None:
    JobPosting.objects.filter(job_id=world.job).update(title="Head of everything " * 4)
    sign_in_staff(page.context, site.url, world.owner)
    page.goto("/company/")

    wider = page.locator(".rail").evaluate("rail => rail.scrollWidth - rail.clientWidth")

    assert wider == 0


def test_addresses_are_typed_from_left_to_right(page: Page, site: Site, world: World) -> None:
    open_turned(page, address_of(world, "opening"))

    directions = {
        name: page.locator(f"input[name={name}]").evaluate(
            "field => [getComputedStyle(field).direction, getComputedStyle(field).unicodeBidi]"
        )
        for name in ("email", "name")
    }

    assert directions["email"][0] == "ltr"
    assert directions["name"] == ["rtl", "plaintext"]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_the_parts_of_a_board_begin_at_one_edge(
    page: Page, site: Site, world: World, direction: str
) -> None:
    sign_in_staff(page.context, site.url, world.owner)
    page.goto(address_of(world, "board"))
    page.evaluate("way => { document.documentElement.dir = way; }", direction)

    edges = page.locator("#seats-title, #waitlist-title").evaluate_all(
        """(all, way) => all.map((one) => one.getBoundingClientRect())
            .map(({left, right}) => Math.round(way === "rtl" ? right : left))""",
        direction,
    )

    assert len(edges) == 2
    assert edges[0] == edges[1]
