"""Replaying a line with the mouse, with the keyboard, by playing, and on a narrow phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from jobs.models import Company
from tests.browser.helpers import no_sideways_scroll, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.applicants import leave

pytestmark = pytest.mark.slow

HEAD = 8
"""Events of the job: created, opened, and six people applied."""

KEEP_MOVES = """() => {
    window.moved = [];
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (...how) {
        window.moved.push(this.tagName);
        return animate.apply(this, how);
    };
}"""


@pytest.fixture
def address(site: Site) -> tuple[Company, str]:
    """The company, and where its job is replayed."""
    company = factories.company(name="Acme")
    job = factories.job(company_id=company.id, capacity=2)
    factories.applications(job, HEAD - 2)
    return company, f"{site.url}/company/jobs/{job}/replay/"


@pytest.fixture
def replay(page: Page, site: Site, address: tuple[Company, str]) -> Page:
    """The page, at its last moment."""
    company, url = address
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(url)
    return page


def slider(page: Page) -> Locator:
    return page.get_by_role("slider")


def assert_shows(page: Page, seq: int) -> None:
    expect(page.locator(".this-event")).to_contain_text(f"Event {seq} of {HEAD}")
    expect(slider(page)).to_have_js_property("value", str(seq))


def test_dragging_the_slider_shows_the_moment_and_says_it(replay: Page) -> None:
    box = slider(replay).bounding_box()
    assert box
    replay.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    replay.mouse.down()
    replay.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2, steps=6)
    replay.mouse.up()

    assert_shows(replay, 1)
    said = re.compile(f"Event 1 of {HEAD}, .+ Job created")
    expect(slider(replay)).to_have_attribute("aria-valuetext", said)
    expect(replay.get_by_role("status").filter(has_text="Job created")).to_have_count(1)
    expect(replay).to_have_url(re.compile("seq=1"))


def test_the_keyboard_alone_goes_through_the_log(replay: Page) -> None:
    slider(replay).focus()
    replay.keyboard.press("ArrowLeft")
    assert_shows(replay, HEAD - 1)
    replay.keyboard.press("Home")
    assert_shows(replay, 1)

    following = replay.get_by_role("link", name="Next", exact=True)
    following.focus()
    replay.keyboard.press("Enter")
    assert_shows(replay, 2)
    expect(replay.get_by_role("link", name="Next", exact=True)).to_be_focused()
    replay.get_by_role("link", name="Last", exact=True).click()
    assert_shows(replay, HEAD)


def test_it_plays_to_the_end_and_can_be_paused(replay: Page) -> None:
    play = replay.locator("#play")
    replay.locator("#speed").select_option("1")
    play.click()  # at the end it begins anew
    expect(play).to_have_text("Pause")
    expect(replay.locator(".this-event")).to_contain_text(re.compile(f"Event [2-7] of {HEAD}"))
    play.click()
    expect(play).to_have_text("Play")
    paused = slider(replay).input_value()
    replay.wait_for_timeout(1_300)
    assert slider(replay).input_value() == paused
    expect(replay).to_have_url(re.compile(f"seq={paused}"))

    replay.locator("#speed").select_option("20")
    play.click()

    assert_shows(replay, HEAD)
    expect(play).to_have_text("Play")
    expect(replay).to_have_url(re.compile(f"seq={HEAD}"))


def test_what_cannot_be_fetched_is_said_and_stops_playing(
    replay: Page, expected_problems: list[str]
) -> None:
    expected_problems.append("ERR_FAILED")
    replay.route("**/*fragment=1*", _fail)

    replay.locator("#play").click()

    expect(replay.locator("#replay-says")).to_contain_text("could not be fetched")
    expect(replay.locator("#play")).to_have_text("Play")


def _fail(route: Route) -> None:
    route.abort()


def test_a_time_that_is_now_can_be_asked_for_although_the_line_moved_on(replay: Page) -> None:
    replay.locator("#at").evaluate("one => { one.stepUp(40); }")

    replay.get_by_role("button", name="Go", exact=True).click()

    assert_shows(replay, HEAD)
    expect(replay.get_by_text("in the future")).to_have_count(0)


@pytest.mark.parametrize("scripted", [True, False])
def test_nothing_sticks_out_on_a_narrow_phone(
    browser_page: OpenPage, site: Site, address: tuple[Company, str], scripted: bool
) -> None:
    company, url = address
    narrow = browser_page("narrow", javascript=scripted)
    sign_in_staff(narrow.context, site.url, member_of(company))

    narrow.goto(f"{url}?seq=3&with=6")

    no_sideways_scroll(narrow) if scripted else None
    for part in ("#at", "#seek-time button", ".seek-ends", "#steps", "#seek-with button"):
        box = narrow.locator(part).first.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_who_is_offered_a_seat_goes_there_unless_motion_is_unwanted(
    browser_page: OpenPage,
    site: Site,
    company: Company,
    motion: str,
    moves: bool,
) -> None:
    people = factories.applications(factories.job(company_id=company.id), 3)
    leave(people[0])  # event 6 is the withdrawal, event 7 the promotion
    page = browser_page(reduced_motion=motion)
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{people[0].job_id}/replay/")
    slider(page).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".this-event")).to_contain_text("Event 6 of 7")

    page.evaluate(KEEP_MOVES)
    page.keyboard.press("ArrowRight")

    expect(page.locator(".this-event")).to_contain_text("Event 7 of 7")
    assert page.evaluate("window.moved") == (["circle", "g"] if moves else [])
