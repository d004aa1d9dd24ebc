"""The board of a job in a browser: what the first screen shows, and how people move on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.form.answers import fill
from pipeline.form.questions import Kind
from pipeline.live.announcer import start_announcing, stop_announcing
from tests.browser.helpers import axe, no_sideways_scroll, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.applicants import leave
from tests.support.forms import job_with, question

pytestmark = pytest.mark.slow

SCREEN = {"width": 1280, "height": 800}
# Keeps which faces the browser was asked to move, before and after.
KEEP_MOVES = """() => {
    window.moved = [];
    const named = () => [...document.querySelectorAll("[data-key]")]
        .filter((row) => row.querySelector(".avatar")?.style.viewTransitionName)
        .map((row) => row.dataset.key);
    const start = Document.prototype.startViewTransition;
    Document.prototype.startViewTransition = function (change) {
        window.moved.push(named());
        return start.call(this, () => { change(); window.moved.push(named()); });
    };
}"""


@pytest.fixture(autouse=True)
def announcing(site: Site) -> Iterator[None]:
    """Announce changes made by the test's own process, as in production."""
    start_announcing()
    yield
    stop_announcing()


def line_of(company: Company, *, seats: int, waiting: int) -> list[Any]:
    """People of a job with these seats, taken except one on offer, and so many who wait."""
    job = factories.job(company_id=company.id, capacity=seats)
    people = factories.applications(job, seats + waiting + 1)
    leave(people[0])
    return people[1:]


def open_board(page: Page, site: Site, company: Company, job: Any) -> Page:
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job}/")
    return page


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("seats", [1, 4, 8, 40])
def test_seats_and_the_first_ten_who_wait_are_on_the_first_screen(
    page: Page, site: Site, company: Company, seats: int
) -> None:
    people = line_of(company, seats=seats, waiting=12)
    page.set_viewport_size({"width": 1280, "height": 800})
    open_board(page, site, company, people[0].job_id)

    tenth = page.locator("#waitlist .waiting").nth(9).bounding_box()
    slots = page.locator("#seats .slot:visible")

    assert tenth
    assert tenth["y"] + tenth["height"] <= 800
    assert 36 <= tenth["height"] <= 40
    expect(slots).to_have_count(min(seats, 8))


def test_the_question_over_a_column_of_answers_is_whole(
    page: Page, site: Site, company: Company
) -> None:
    label = "Experience with wooden boats and their engines in winter"
    asked = question(Kind.SHORT_TEXT, "boats", label=label, in_summary=True)
    job = job_with([asked], capacity=1, company_id=company.id)
    for _ in range(3):
        answers = fill(factories.row_of(job), {"boats": "Ten"}, holder=b"")
        factories.application(job, filled=answers)
    page.set_viewport_size({"width": 1280, "height": 800})
    open_board(page, site, company, job)

    head = page.get_by_role("columnheader", name=label)

    assert head.evaluate("head => head.scrollWidth <= head.clientWidth")


def test_further_seats_are_folded_and_stay_open(page: Page, site: Site, company: Company) -> None:
    people = line_of(company, seats=10, waiting=1)
    open_board(page, site, company, people[0].job_id)
    expect(page.locator("#live-state")).to_have_text("Live")

    page.get_by_text("2 more seats").click()
    factories.application(people[0].job_id, factories.applicant(name="Brand New"))

    expect(page.locator("#live")).to_contain_text("Brand New")
    expect(page.locator("#seats .slot:visible")).to_have_count(10)


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_who_is_offered_a_seat_moves_there_unless_motion_is_unwanted(
    browser_page: OpenPage, site: Site, company: Company, motion: str, moves: bool
) -> None:
    holder, first, second = factories.applications(factories.job(company_id=company.id), 3)
    page = open_board(browser_page(reduced_motion=motion), site, company, holder.job_id)
    expect(page.locator("#live-state")).to_have_text("Live")
    page.evaluate(KEEP_MOVES)

    leave(holder)

    expect(page.locator("#seats .slot")).to_have_attribute("data-key", str(first.id))
    before, after = (
        [str(each.id) for each in (holder, first, second)],
        [str(first.id), str(second.id)],
    )
    assert page.evaluate("window.moved") == ([before, after] if moves else [])
    expect(page.locator("[style*=view-transition]")).to_have_count(0)


def test_what_else_can_be_done_is_in_one_menu_by_keyboard_and_without_javascript(
    browser_page: OpenPage, site: Site, company: Company
) -> None:
    people = line_of(company, seats=1, waiting=2)
    scripted = open_board(browser_page(), site, company, people[0].job_id)
    plain = open_board(browser_page(javascript=False), site, company, people[0].job_id)

    for page in (scripted, plain):
        more = page.locator("summary[aria-label='More for this job']")
        more.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Pause job")).to_be_visible()
        expect(page.get_by_role("link", name="Close job…")).to_be_visible()
    axe(scripted)
    scripted.keyboard.press("Escape")
    expect(scripted.get_by_role("button", name="Pause job")).to_be_hidden()
    expect(scripted.locator("summary[aria-label='More for this job']")).to_be_focused()


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("width", [320, 390, 700, 1000])
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_it_fits_every_width_in_both_directions(
    page: Page, site: Site, company: Company, width: int, direction: str
) -> None:
    people = line_of(company, seats=6, waiting=3)
    factories.Application.objects.filter(id=people[-1].id).update(
        name="Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh", decay_count=2, pass_next=True
    )
    page.set_viewport_size({"width": width, "height": 800})
    open_board(page, site, company, people[0].job_id)
    page.evaluate("direction => { document.documentElement.dir = direction; }", direction)

    no_sideways_scroll(page)
    if direction == "rtl":
        left = page.evaluate(
            "Math.min(...[...document.querySelectorAll('main *')]"
            ".filter(one => !one.closest('.vh, svg, .tabs'))"
            ".map(one => one.getBoundingClientRect().left))"
        )
        assert left >= -1


def test_a_review_follows_from_the_board(page: Page, site: Site, company: Company) -> None:
    people = line_of(company, seats=3, waiting=1)
    open_board(page, site, company, people[0].job_id)

    page.get_by_role("link", name="Review next").click()

    expect(page).to_have_url(re.compile(f"{people[0].id}/$"))


def test_the_tabs_stay_in_place_between_the_pages_of_a_job(
    page: Page, site: Site, company: Company
) -> None:
    people = line_of(company, seats=1, waiting=1)
    open_board(page, site, company, people[0].job_id)
    board = f"/company/jobs/{people[0].job_id}/"

    places = []
    for path in ("", "applications/", "timeline/", "settings/"):
        page.goto(f"{board}{path}")
        box = page.locator("nav.tabs").first.bounding_box()
        places.append(box and box["y"])

    assert len(set(places)) == 1, places


def test_the_face_of_who_is_offered_a_seat_is_level_with_the_others(
    page: Page, site: Site, company: Company
) -> None:
    people = line_of(company, seats=3, waiting=1)
    open_board(page, site, company, people[0].job_id)

    tops = page.evaluate(
        "[...document.querySelectorAll('#seats .slot .avatar')]"
        ".map((face) => face.getBoundingClientRect().top)"
    )

    expect(page.locator("#seats .slot.offered")).to_have_count(1)
    assert len(tops) == 3
    assert len(set(tops)) == 1, tops
