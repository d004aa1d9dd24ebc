"""Live updates move rows: focus and pointer stay with the person they were on, or do nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.live.announcer import start_announcing, stop_announcing
from tests.browser.helpers import sign_in_applicant, sign_in_staff
from tests.browser.page_clock import pass_time, stop_clock
from tests.browser.site import Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.applicants import decide, leave, owner_signed_in

pytestmark = pytest.mark.slow
SHIELD_MS = 700  # a little longer than morph.js keeps clicks away
HIGH: ViewportSize = {"width": 1280, "height": 1600}  # the whole board, without scrolling
LOW: ViewportSize = {"width": 1280, "height": 600}  # its end, with the last of the line


@pytest.fixture(autouse=True)
def announcing(site: Site) -> Iterator[None]:
    """Announce changes made by the test's own process, as in production."""
    start_announcing()
    yield
    stop_announcing()


@pytest.fixture
def line(company: Company) -> list[Any]:
    """A seat, taken, and three people who wait."""
    return factories.applications(factories.job(company_id=company.id), 4)


@pytest.fixture
def board(page: Page, site: Site, company: Company, line: list[Any]) -> Page:
    """The job's board, listening."""
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{line[0].job_id}/")
    expect(page.locator("#live-state")).to_have_text("Live")
    return page


def decide_link(page: Page, application: Any) -> Any:
    return page.locator(f"a[href='/company/applications/{application.id}/decide/']")


def point_at(link: Any) -> list[float]:
    """Move the pointer to a link, scrolling if need be. Gives where it is then."""
    link.hover()
    box = link.bounding_box()
    return [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]


def row_at(page: Page, place: list[float]) -> str:
    """Key of the row where a press at that place would land now."""
    row = "([x, y]) => document.elementFromPoint(x, y).closest('[data-key]').dataset.key"
    return str(page.evaluate(row, place))


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('href')"))


def test_the_focus_stays_on_the_same_person(board: Page, line: list[Any]) -> None:
    decide_link(board, line[2]).focus()
    before = focused(board)

    leave(line[1])

    expect(decide_link(board, line[1])).to_have_count(0)
    assert focused(board) == before


def test_the_focus_follows_a_person_who_gets_a_seat(board: Page, line: list[Any]) -> None:
    decide_link(board, line[1]).focus()
    before = focused(board)

    leave(line[0])

    expect(board.locator("#seats").locator(f"a[href='{before}']")).to_have_count(1)
    assert focused(board) == before


def test_a_press_meant_for_a_row_that_moved_away_reaches_no_other(
    board: Page, line: list[Any]
) -> None:
    board.set_viewport_size(HIGH)  # nothing scrolls, so the rows below the one that leaves slide up
    here = board.url
    place = point_at(decide_link(board, line[2]))

    leave(line[1])
    expect(decide_link(board, line[1])).to_have_count(0)
    assert row_at(board, place) == str(line[3].id)
    board.mouse.down()
    board.mouse.up()

    board.wait_for_timeout(SHIELD_MS)
    assert board.url == here
    board.mouse.down()
    board.mouse.up()
    expect(board).to_have_url(re.compile(f"{line[3].id}/decide/$"))


def test_a_press_on_a_row_that_a_shorter_page_keeps_in_place_reaches_it(
    board: Page, line: list[Any]
) -> None:
    last = factories.applications(line[0].job_id, 20)[-1]  # the line is longer than its side column
    board.set_viewport_size(LOW)
    expect(decide_link(board, last)).to_have_count(1)
    board.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    place = point_at(decide_link(board, last))

    leave(line[1])
    expect(decide_link(board, line[1])).to_have_count(0)
    assert row_at(board, place) == str(last.id)
    board.mouse.down()
    board.mouse.up()

    expect(board).to_have_url(re.compile(f"{last.id}/decide/$"))


def test_the_button_that_confirms_stays_with_its_job(page: Page, site: Site) -> None:
    person = factories.applicant()
    jobs: list[UUID] = [factories.job(acknowledge_first_seat=True) for _ in range(2)]
    first, second = (factories.application(job, person) for job in jobs)
    sign_in_applicant(page.context, site.url, person)
    page.goto("/me/")
    expect(page.locator("#live-state")).to_have_text("Live")
    page.locator(f"form[action$='{second.id}/confirm/'] button").focus()

    leave(first)

    expect(page.locator(f"form[action$='{first.id}/confirm/']")).to_have_count(0)
    form = page.evaluate("document.activeElement.closest('form').getAttribute('action')")
    assert form == f"/me/applications/{second.id}/confirm/"


def spoken(page: Page) -> Any:
    return page.locator("p.vh[aria-live=polite]")


def test_a_waiting_person_is_told_that_it_is_their_turn(page: Page, site: Site) -> None:
    job = factories.job()
    first = factories.application(job)
    person = factories.applicant()
    mine = factories.application(job, person)
    sign_in_applicant(page.context, site.url, person)
    page.goto(f"/me/applications/{mine.id}/")
    expect(page.locator("#live-state")).to_have_text("Live")

    decide(first, Outcome.REJECTED)

    expect(spoken(page)).to_have_text("It is your turn.")
    expect(page).to_have_title(re.compile(r"^\d+ (h|min) left · It is your turn\. "))
    expect(page.locator("link[rel=icon]")).to_have_attribute(
        "href", re.compile(r"/icons/left-\d+[hm]\.svg$")
    )

    owner_signed_in(mine).post(f"/me/applications/{mine.id}/confirm/")

    expect(page).to_have_title(re.compile("^You have a seat"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("mark"))


def test_a_tab_in_the_background_still_tells_that_it_is_their_turn(page: Page, site: Site) -> None:
    job = factories.job()
    first = factories.application(job)
    person = factories.applicant()
    mine = factories.application(job, person)
    sign_in_applicant(page.context, site.url, person)
    stop_clock(page)
    page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.goto(f"/me/applications/{mine.id}/")
    pass_time(page, 20)

    decide(first, Outcome.REJECTED)
    pass_time(page, 70)

    expect(page).to_have_title(re.compile("It is your turn"))
