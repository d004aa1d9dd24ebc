"""Additions of the script to pages that work without it: countdowns, times, forms, menus."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from pipeline.templatetags.line import tag_countdown, tag_when
from pipeline.wording.english import short_duration
from tests.browser.helpers import axe, no_sideways_scroll, sign_in_applicant, sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.slow

ON_PAPER = """time => ({
    text: getComputedStyle(time, "::after").content.replace("attr(title)", time.title),
    own: getComputedStyle(time).fontSize,
})"""
SPANS = [0, 59, 61, 3_599, 3_600, 5_000, 86_399, 90_000, 200_000]


def put(page: Page, html: str) -> None:
    """Put something on a page that is open."""
    page.evaluate(
        "html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", html
    )


def test_a_countdown_counts_in_the_servers_words_and_ends(page: Page) -> None:
    page.goto("/")
    now = timezone.now()

    for seconds in SPANS:
        put(page, tag_countdown(now + timedelta(seconds=seconds + 0.9), now))

    shown = page.locator("count-down [role=timer]").all_text_contents()
    assert shown[0] in ("time is up", "1 s", "0 s")
    expected = [{short_duration(seconds + extra) for extra in (-1, 0, 1)} for seconds in SPANS]
    assert all(text in words for text, words in zip(shown[1:], expected[1:], strict=True))
    expect(page.locator("count-down [role=timer]").first).to_have_text(re.compile("time is up"))


def test_a_deadline_that_has_passed_fits_into_a_narrow_list_of_jobs(
    browser_page: OpenPage, site: Site
) -> None:
    company = factories.company()
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    factories.application(job)
    let_time_pass(job, factories.WINDOW + 60)
    page = browser_page("narrow")
    sign_in_staff(page.context, site.url, member_of(company))

    page.goto("/company/")

    expect(page.locator("count-down [role=timer]").first).to_have_text(re.compile("time is up"))
    no_sideways_scroll(page)


def test_a_countdown_goes_by_the_servers_clock_and_speaks_at_its_marks(page: Page) -> None:
    page.goto("/")
    there = timezone.now() + timedelta(hours=5)

    put(page, tag_countdown(there + timedelta(seconds=62), there))

    expect(page.locator("count-down [role=timer]")).to_have_text(re.compile(r"^(1 min|\d\d s)"))
    expect(page.locator("p.vh[aria-live=polite]")).to_have_text("1 minute left.")


def test_relative_times_keep_djangos_words(page: Page) -> None:
    page.clock.install()
    page.goto("/")
    page.evaluate("document.querySelectorAll('time').forEach((one) => one.remove())")
    now = timezone.now()
    for seconds in (100, 4_000, 90_000, 700_000, -4_000, -200_000):
        put(page, tag_when({}, now - timedelta(seconds=seconds)))
    before = page.locator("time[data-relative]").all_text_contents()

    page.clock.run_for(61_000)

    after = page.locator("time[data-relative]").all_text_contents()
    assert before[0] == "a minute ago"
    assert after[0] == "2 minutes ago"
    strip = re.compile(r"\d+ (minutes?|hours?)")
    assert [strip.sub("", text) for text in after[1:]] == [strip.sub("", t) for t in before[1:]]


def test_paper_shows_full_times_and_nothing_to_press(page: Page, site: Site) -> None:
    company = factories.company()
    factories.applications(job := factories.job(company_id=company.id), 3)
    sign_in_staff(page.context, site.url, member_of(company))

    for path, things in (
        ("", ".acts, .btn, .tabs, .tick"),
        ("timeline/", ".search, .filters, .btn"),
    ):
        page.goto(f"/company/jobs/{job}/{path}")
        page.emulate_media(media="print")
        for each in page.locator(f"main :is({things})").all():
            expect(each).to_be_hidden()
        shown = page.locator("main time[data-relative]").first.evaluate(ON_PAPER)
        assert re.search(r"\d\d:\d\d", shown["text"])
        assert shown["own"] == "0px"
        page.emulate_media(media="screen")


def test_the_readers_zone_is_used_from_the_second_page_on(browser_page: OpenPage) -> None:
    page = browser_page(timezone_id="Asia/Tokyo")
    page.goto("/")
    page.goto("/")

    expect(page.locator("footer")).to_contain_text("Tokyo")


def test_a_password_can_be_read_while_it_is_typed_and_is_hidden_before_it_is_sent(
    page: Page,
) -> None:
    page.goto("/account/login/")
    password, box = page.locator("[name=password]"), page.get_by_label("Show what I type")
    page.locator("[name=login]").fill("ada@example.org")
    password.fill("correct horse")
    expect(password).to_have_attribute("type", "password")

    box.check()
    expect(password).to_have_attribute("type", "text")
    box.uncheck()
    expect(password).to_have_attribute("type", "password")
    box.check()
    axe(page)

    page.evaluate(
        "document.querySelector('[name=password]').form.addEventListener('submit', (event) => {"
        " event.preventDefault(); window.sent = event.target.password.type; })"
    )
    page.get_by_role("button", name="Sign in", exact=True).click()
    assert page.evaluate("window.sent") == "password"


def test_a_form_is_sent_once_however_often_its_button_is_pressed(page: Page, site: Site) -> None:
    sent: list[str] = []
    page.route("**/slow", lambda route: sent.append(route.request.post_data or ""))
    page.goto("/")
    put(page, '<form method="post" action="/slow"><button name="a" value="1">Go</button></form>')

    held = page.evaluate(
        """() => {
            const button = document.querySelector("form[action='/slow'] button");
            for (const press of [1, 2, 3]) button.click();
            return button.getAttribute("aria-disabled");
        }"""
    )

    assert held == "true"
    page.wait_for_timeout(500)
    assert sent == ["a=1"]


def test_arrows_move_in_an_open_menu(page: Page) -> None:
    page.goto("/")
    items = '<a class="menu-item" href="#x">x</a><a class="menu-item" href="#y">y</a>'
    put(page, f'<details class="menu"><summary>Menu</summary>{items}</details>')
    page.locator("main summary").last.click()

    focused = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        focused.append(page.evaluate("document.activeElement.textContent"))

    assert focused == ["x", "y", "x", "y"]


def test_a_menu_closes_on_escape_and_on_a_click_elsewhere(page: Page) -> None:
    page.goto("/")
    put(page, '<details class="menu"><summary>Menu</summary><a href="#x">x</a></details>')
    menu = page.locator("main details.menu")

    page.locator("main summary").last.click()
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"

    page.locator("main summary").last.click()
    expect(menu).to_have_attribute("open", "")
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")


def test_after_a_form_the_focus_is_on_its_errors_or_on_what_was_done(
    page: Page, site: Site, expected_problems: list[str]
) -> None:
    expected_problems.append("422")
    job = factories.job()
    page.goto(f"/jobs/{job}/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link
    expect(page.locator("main")).to_be_focused()
    assert "#" not in page.url  # the answer to a form would go there

    page.get_by_label("Your name").fill("Ana Li")
    page.get_by_label("Email address").fill("ana")
    page.get_by_role("button", name="Apply").click()

    errors = page.locator("#errors")
    expect(errors).to_be_focused()
    expect(errors.get_by_role("link")).to_contain_text("Email address: Enter an email address")
    person = factories.applicant()
    sign_in_applicant(page.context, site.url, person)
    page.goto("/")
    page.locator("summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".messages")).to_be_focused()


def test_what_was_typed_stays_when_another_language_is_chosen(page: Page) -> None:
    job = factories.job()
    page.goto(f"/jobs/{job}/")
    page.get_by_label("Your name").fill("Ana Li")
    page.get_by_label("Email address").fill("ana@example.org")

    page.locator("footer a.language").click()
    page.get_by_role("button", name="Deutsch").click()

    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("input[name=name]")).to_have_value("Ana Li")
    expect(page.locator("input[name=email]")).to_have_value("ana@example.org")
    page.reload()
    expect(page.locator("input[name=name]")).to_have_value("")  # once


def test_a_menu_that_opens_below_the_window_comes_into_it(
    browser_page: OpenPage, site: Site
) -> None:
    page = browser_page("narrow")
    factories.application(job := factories.job())
    waiting = factories.application(job)
    sign_in_applicant(page.context, site.url, waiting.applicant)
    page.goto(f"/me/applications/{waiting.id}/")

    page.get_by_text("Later or leave").click()

    expect(page.get_by_role("link", name="Withdraw…")).to_be_in_viewport(ratio=1)
    no_sideways_scroll(page)
