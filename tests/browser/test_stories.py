"""The two main stories, told three times: with a mouse, with the keyboard, without JavaScript."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Job, Membership, Role
from pipeline.models import Application
from tests.browser.helpers import axe, shot, sign_in_applicant, sign_in_staff
from tests.browser.mails import code_in, last_mail, link_in
from tests.browser.pointer import Hands, Way
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import let_time_pass
from tests.support.decay_worker import DecayProcess
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.slow

WAYS = pytest.mark.parametrize("way", ["mouse", "keyboard", "no JavaScript"])


def open_for(browser_page: OpenPage, way: Way, kind: str = "desktop") -> Page:
    return browser_page(kind, javascript=way != "no JavaScript")


def main_of(page: Page) -> object:
    return page.locator("#main")


@WAYS
def test_somebody_applies_confirms_and_leaves(browser_page: OpenPage, site: Site, way: Way) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    page = open_for(browser_page, way, "phone")
    they, address = Hands(page, way), f"kim.{way[:2]}@example.org"

    page.goto("/")
    they.follow("Engineer")
    they.fill("name", "Kim Doe")
    they.fill("Email address", address)
    they.press("Apply to Engineer")
    expect(page).to_have_title(re.compile("Check your email"))
    if way != "no JavaScript":
        axe(page)
    shot(page, f"enter_code-{way[:2]}")
    they.fill("Code", code_in(last_mail(site.mails, address, saying="your code")))
    they.press("See my application")

    expect(main_of(page)).to_contain_text("It is your turn")
    they.press("Confirm my seat")
    expect(main_of(page)).to_contain_text("You have a seat")
    they.follow("Withdraw")
    they.press("Withdraw my application")
    expect(main_of(page)).to_contain_text("You withdrew this application.")
    assert_line_is_sound(job_id)


@WAYS
def test_a_company_runs_a_job(browser_page: OpenPage, site: Site, way: Way) -> None:
    company = factories.company(name="Acme")
    user = factories.UserFactory.create(email=f"boss.{way[:2]}@example.org")
    Membership.objects.create(company=company, user=user, role=Role.OWNER)
    page = open_for(browser_page, way)
    they = Hands(page, way)

    page.goto("/company/")
    they.fill("Email", user.email)
    they.fill("Password", "correct horse")
    they.press("Sign in")
    they.follow("New job")
    they.fill("Title", "Ship's cook")
    they.fill("Seats", "1")
    they.fill("Positions to fill", "2")
    they.press("Open now")
    expect(page.locator("#seats")).to_contain_text("Free seat")
    job = Job.objects.get(company=company)
    for name in ("Mia Berg", "Noa Li"):
        they.follow("Add a person")
        they.fill("Name", name)
        they.fill("address", f"{name.split()[0].lower()}@example.org")
        they.press("Add to the line")
    expect(page.locator("#seats")).to_contain_text("Mia Berg")
    expect(page.locator("#waitlist")).to_contain_text("Noa Li")

    they.follow("Decide… on Mia Berg")
    they.press("Hire")
    expect(page.locator("#seats")).to_contain_text("Noa Li")
    expect(main_of(page)).to_contain_text("Noa Li")
    they.press("Pause")
    they.press("Resume")
    they.follow("History")
    expect(main_of(page)).to_contain_text("Mia Berg was hired")
    they.follow("Verify the log")
    they.press("Verify")
    expect(main_of(page)).to_contain_text("sound")
    they.follow("Replay")
    they.follow("First")
    expect(main_of(page)).to_contain_text("Event 1 of")
    they.follow("Line", exact=True)
    they.follow("Close job…")
    they.press("Close job")
    expect(main_of(page)).to_contain_text("The job is closed")
    assert_line_is_sound(job.id)


def test_two_browsers_race_for_the_last_seat(browser_page: OpenPage, site: Site) -> None:
    job_id = factories.job(capacity=1)
    people = [factories.applicant(name=name) for name in ("Ana", "Bo")]
    pages = [browser_page("phone") for _ in people]
    for page, person in zip(pages, people, strict=True):
        sign_in_applicant(page.context, site.url, person)
        page.goto(f"/jobs/{job_id}/")

    for page in pages:  # both requests are on their way before either is answered
        page.evaluate("() => { document.querySelector('#apply form').requestSubmit(); }")
    for page in pages:
        page.wait_for_url("**/me/applications/**")

    told = sorted(str(page.locator("#stand").text_content()).strip()[:12] for page in pages)
    assert told == ["You are next", "You have a s"]
    assert sorted(factories.statuses(*Application.objects.filter(job_id=job_id))) == [
        "ACTIVE",
        "WAITLIST",
    ]
    assert_line_is_sound(job_id)


def test_the_whole_story_of_a_missed_deadline(
    browser_page: OpenPage, site: Site, decay_worker: DecayProcess
) -> None:
    company = factories.company(name="Acme")
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    board = browser_page()
    sign_in_staff(board.context, site.url, member_of(company))
    board.goto(f"/company/jobs/{job_id}/")

    for name in ("Ana Li", "Bo Berg", "Cy Okafor"):
        _apply_by_mail(browser_page(), site, job_id, name)
    expect(board.locator("#seats")).to_contain_text("Ana Li")
    expect(board.locator("#waitlist")).to_contain_text("Cy Okafor")
    let_time_pass(job_id, factories.WINDOW + 1)

    expect(board.locator("#seats")).to_contain_text("Bo Berg", timeout=15_000)
    mail = last_mail(site.mails, "bo.berg@example.org", saying="/confirm/")
    bo = browser_page("phone")
    bo.goto(link_in(mail, "/confirm/"))
    assert factories.row_of(job_id).active_count == 0  # opening the link has changed nothing
    axe(bo)
    bo.get_by_role("button", name="Confirm my seat").click()
    expect(bo.locator("#main")).to_contain_text("You have a seat")
    expect(board.locator("#seats")).to_contain_text("in review")

    board.goto(f"/company/jobs/{job_id}/timeline/")
    expect(board.locator("#main")).to_contain_text("Ana Li missed the deadline")
    expect(board.locator("#main")).to_contain_text("This caused 1 event")
    board.get_by_role("link", name="Replay").click()
    board.get_by_role("link", name="Previous").click()
    expect(board.locator("#main")).to_contain_text("Must confirm")
    assert_line_is_sound(job_id)


def _apply_by_mail(page: Page, site: Site, job_id: UUID, name: str) -> None:
    address = f"{name.lower().replace(' ', '.')}@example.org"
    they = Hands(page, "mouse")
    page.goto(f"/jobs/{job_id}/")
    they.fill("name", name)
    they.fill("Email address", address)
    they.press("Apply to")
    they.fill("Code", code_in(last_mail(site.mails, address, saying="your code")))
    they.press("See my application")
    expect(page.locator("#main")).to_contain_text("Engineer")
