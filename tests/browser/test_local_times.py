"""Times in the reader's zone on the very first page, and long words in narrow windows."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.models import Application
from pipeline.services.turns import defer, pass_offer
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_applicant, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.browser.test_every_page import ANYBODY, APPLICANT
from tests.browser.world import World
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.slow
TOKYO = ZoneInfo("Asia/Tokyo")
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


@pytest.fixture
def offered() -> Any:
    """An application with an offer for a day."""
    job = factories.job(acknowledge_first_seat=True, acknowledgment_window_seconds=86_400)
    return factories.application(job)


def link_of(application: Any) -> str:
    seq = factories.events(application.job_id)[-1].seq
    return f"/confirm/{make_offer_token(LinkedOffer(application.id, seq))}/"


def test_the_deadline_is_in_local_time_on_the_first_page(
    browser_page: OpenPage, site: Site, offered: Any
) -> None:
    page = browser_page(timezone_id="Asia/Tokyo")

    page.goto(link_of(offered))

    until = factories.fresh(offered).acknowledge_by.astimezone(TOKYO)
    shown = page.locator(".deadline time")
    expect(shown).to_have_text(f"{until:%a} {until.day} {until:%b, %H:%M} (Tokyo)")
    expect(shown).to_have_attribute("title", re.compile(rf"{until:%H:%M:%S} \(Tokyo\)$"))
    expect(page.locator("footer")).to_contain_text("Asia/Tokyo")


def test_the_zone_of_the_first_page_is_named_in_the_language_of_the_reader(
    browser_page: OpenPage, site: Site, offered: Any
) -> None:
    page = browser_page(timezone_id="Asia/Tokyo", locale="ar")

    page.goto(link_of(offered))

    shown = page.locator(".deadline time")
    expect(shown).to_contain_text("(توقيت اليابان الرسمي)")
    expect(shown).to_have_attribute("title", re.compile(r"\(توقيت اليابان الرسمي\)$"))


def test_the_link_of_an_offer_that_is_over_says_the_next_one_in_local_time(
    browser_page: OpenPage, site: Site
) -> None:
    job = factories.job(acknowledge_first_seat=True, cooldown_seconds=86_400)
    missed, passed = factories.application(job), factories.application(job)
    links = [link_of(missed)]
    let_time_pass(job, 2 * factories.WINDOW)
    factories.settle_all()
    links.append(link_of(passed))
    pass_offer(application_id=passed.id, actor=factories.owner_of(passed))

    for link in links:
        page = browser_page(timezone_id="Pacific/Auckland")
        page.goto(link)
        assert zones_shown(page) == {"Auckland"}


def test_the_deadline_is_the_largest_thing_on_every_page_that_has_one(
    browser_page: OpenPage, site: Site, offered: Any
) -> None:
    person = factories.Applicant.objects.get(id=offered.applicant_id)
    mine = f"/me/applications/{offered.id}/"
    for kind in ("desktop", "narrow"):
        page = browser_page(kind)
        sign_in_applicant(page.context, site.url, person)
        for name, path in {
            "confirm": link_of(offered),
            "application": mine,
            "withdraw": f"{mine}withdraw/",
            "dashboard": "/me/",
        }.items():
            page.goto(path)
            largest = page.evaluate(
                """() => {
                    const size = (one) => parseFloat(getComputedStyle(one).fontSize);
                    const all = [...document.querySelectorAll("main *")];
                    const largest = all.sort((a, b) => size(b) - size(a))[0];
                    return largest.closest(".deadline, .turn-time") !== null;
                }"""
            )
            assert largest, path
            no_sideways_scroll(page)
            axe(page)
            shot(page, f"deadline-{name}-{kind}")


def test_no_page_of_an_applicant_shows_a_time_of_another_zone(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    person = world.applicant
    defer(
        application_id=world.my_place.id,
        not_before=timezone.now() + timedelta(days=3),
        actor=factories.owner_of(world.my_place),
    )
    for name, where in ANYBODY.items():
        page = browser_page(timezone_id="Pacific/Auckland")  # which the site does not know yet
        page.goto(reverse(name, kwargs=where(world)))
        assert zones_shown(page) <= {"Auckland"}, page.url
        page.context.close()
    phone = browser_page(timezone_id="Pacific/Auckland")
    phone.goto("/sign-in/")
    sign_in_applicant(phone.context, site.url, person)
    mine = Application.objects.filter(applicant=person)
    pages = [reverse(name, kwargs=where(world)) for name, where in APPLICANT.items()]
    found = set()
    for path in [*pages, *(f"/me/applications/{each.id}/" for each in mine)]:
        phone.goto(path)
        found |= zones_shown(phone)
        assert found <= {"Auckland"}, path
    assert found


def zones_shown(page: Page) -> set[str]:
    """Return the places after the times of a page, in its text and in its titles."""
    shown = page.evaluate(
        """() => document.body.innerText + [...document.querySelectorAll("[title]")]
            .map((one) => `\\n${one.title}`).join("")"""
    )
    assert "UTC" not in shown, page.url
    return set(re.findall(r"\d\d:\d\d[^\n]{0,30}?\(([^)]*)\)", shown))


def test_long_words_stay_in_their_boxes(browser_page: OpenPage, site: Site) -> None:
    company = factories.company(name=LONG)
    job = factories.job(company_id=company.id)
    factories.alter(job, posting={"title": LONG, "location": LONG})
    person = factories.applicant(name=LONG)
    mine = factories.application(job, person)
    factories.applications(job, 2)
    visitor, staff = browser_page("narrow"), browser_page("narrow")
    sign_in_staff(staff.context, site.url, member_of(company))

    for page, path in (
        (visitor, "/"),
        (visitor, f"/jobs/{job}/"),
        (staff, "/company/"),
        (staff, f"/company/jobs/{job}/"),
        (staff, f"/company/applications/{mine.id}/"),
        (staff, "/company/people/"),
    ):
        page.goto(path)
        no_sideways_scroll(page)
        assert overflowing(page) == [], path
        shot(page, f"long{path.replace('/', '-')[:20]}")
    sign_in_applicant(visitor.context, site.url, person)
    for path in ("/me/", f"/me/applications/{mine.id}/"):
        visitor.goto(path)
        no_sideways_scroll(visitor)
        assert overflowing(visitor) == [], path


def overflowing(page: Any) -> Any:
    """The buttons and headings whose text leaves them."""
    return page.evaluate(
        """() => [...document.querySelectorAll("main :is(.btn, h1, h2, h3, p, dd, .chip)")]
            .filter((one) => getComputedStyle(one).overflow === "visible")
            .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
            .map((one) => one.outerHTML.slice(0, 120))"""
    )
