"""The company's pages for hands and eyes: nothing is covered or overlaps, in reading order."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from jobs.models import Company, JobPosting
from tests.browser.helpers import sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow

MOST_STOPS = 120
FOCUSED = """() => {
    const part = document.activeElement, box = part.getBoundingClientRect();
    const bar = document.querySelector(".save-bar");
    return {
        name: part.name || part.textContent.trim().slice(0, 30) || part.tagName,
        covered: !bar.contains(part) && box.height > 0
            && box.top < bar.getBoundingClientRect().bottom
            && box.bottom > bar.getBoundingClientRect().top + 1,
        inMain: part.closest("main") !== null,
    };
}"""
# Texts of small seats that touch the bar of the time below them, or stick out.
TOUCHING = """() => [...document.querySelectorAll(".compact > .slot")].flatMap((slot) => {
    const bar = slot.querySelector(".meter").getBoundingClientRect();
    const around = slot.getBoundingClientRect();
    return [...slot.querySelectorAll(".slot-name, .slot-time > span")].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.bottom > bar.top || box.right > around.right;
    }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize(("width", "height"), [(1280, 700), (390, 700)])
def test_the_bar_that_saves_covers_no_field_on_the_way_by_tab(
    page: Page, site: Site, company: Company, width: int, height: int
) -> None:
    job = factories.job(company_id=company.id)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion="reduce")  # or a field would be looked at on its way
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job}/settings/")
    for part in page.locator("main details").all():
        part.evaluate("part => { part.open = true; }")

    page.locator("#id_title").focus()
    stops = [page.evaluate(FOCUSED)]
    while stops[-1]["inMain"] and len(stops) < MOST_STOPS:
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))

    assert len(stops) > 20
    assert [each["name"] for each in stops if each["covered"]] == []


@pytest.mark.parametrize("kind", ["wide", "narrow"])
def test_the_bar_of_a_small_seat_touches_no_words(
    browser_page: OpenPage, site: Site, company: Company, kind: str
) -> None:
    job = factories.job(company_id=company.id, capacity=6)
    factories.applications(job, 6)
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=3 * 86_400)
    page = browser_page() if kind == "wide" else browser_page("narrow")
    sign_in_staff(page.context, site.url, member_of(company))

    page.goto(f"/company/jobs/{job}/")

    assert page.locator(".compact > .slot .meter").count() == 6
    assert page.evaluate(TOUCHING) == []


@pytest.mark.parametrize("seats", [2, 6])
def test_tab_goes_to_a_seat_s_person_before_the_decision_then_to_the_line_and_the_side(
    page: Page, site: Site, company: Company, seats: int
) -> None:
    job = factories.job(company_id=company.id, capacity=seats)
    factories.applications(job, seats + 2)
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{job}/")

    order = page.evaluate(
        """() => [...document.querySelectorAll("main :is(a, input)")].map((part) =>
            part.closest(".side") ? "side" : part.closest(".waitlist") ? "line"
            : part.matches(".slot-name") ? "name" : part.matches(".slot-decide") ? "decide"
            : "").filter(Boolean)"""
    )

    assert order[: 2 * seats] == ["name", "decide"] * seats
    assert order[2 * seats :] == sorted(order[2 * seats :])  # the line, then the side
