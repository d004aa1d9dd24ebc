"""A company begins on its own, its owner says their name, and the rail leads everywhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Membership
from jobs.pictures import SIDE
from tests.browser.buttons import shows
from tests.browser.helpers import (
    axe,
    no_sideways_scroll,
    sign_in_staff,
    usable_by_everybody,
)
from tests.browser.mails import last_mail
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.careers.test_logos import picture

pytestmark = pytest.mark.slow

CODE = re.compile(r"^[B-Z]{4}-[B-Z]{4}$", re.M)


def code_to(site: Site, email: str) -> str:
    found = CODE.search(last_mail(site.mails, email, saying="begin with"))
    assert found
    return found[0]


@pytest.mark.parametrize("way", ["mouse", "no JavaScript"])
def test_a_company_begins_with_its_first_job(
    browser_page: OpenPage, site: Site, way: str, expected_problems: list[str]
) -> None:
    expected_problems.append("422")  # the wrong code
    page, email = browser_page(javascript=way == "mouse"), f"{way[:2]}@harbour.example"
    they = Hands(page, "mouse")
    page.goto("/")
    they.follow("For companies")
    they.follow("Create your company")
    they.fill("Company", "Harbour & Pine")
    they.fill("Work email", email)
    they.press("Email me a code")
    if way == "mouse":
        usable_by_everybody(page, "sign_up_code")
    they.fill("Code", "BBBB-BBBB")
    they.press("Continue")
    shows(page, "This code is wrong")

    they.fill("Code", code_to(site, email))
    they.press("Continue")

    expect(page.locator("h1")).to_contain_text("job")
    expect(page.locator(".who-name")).to_have_text("Harbour & Pine")
    assert Membership.objects.get().user.email == email


def test_a_member_says_their_name(owner: Hands, world: World) -> None:
    owner.page.goto("/company/team/")
    owner.follow("Add your name")

    owner.fill("Name", "Ines Brandt")
    owner.press("Save name")

    shows(owner.page, "Your name is saved.")
    expect(owner.page.locator(".rail-name .strong")).to_have_text("Ines Brandt")
    world.owner.refresh_from_db()
    assert world.owner.name == "Ines Brandt"


def test_a_member_shows_a_picture_and_removes_it(owner: Hands, world: World) -> None:
    owner.page.goto("/account/")
    file = {"name": "me.png", "mimeType": "image/png", "buffer": picture("PNG", (300, 200))}
    owner.page.get_by_label("Picture", exact=True).set_input_files([file])

    owner.press("Save picture")

    shows(owner.page, "Your picture is saved.")
    owner.page.goto("/company/team/")
    shown = owner.page.locator(".team .avatar img")
    expect(shown).to_have_count(1)
    expect(shown).to_have_js_property("naturalWidth", SIDE)
    owner.page.goto("/account/")
    owner.press("Remove picture")
    shows(owner.page, "Your picture is removed.")
    expect(owner.page.locator(".avatar img")).to_have_count(0)


def test_a_typed_address_is_not_typed_again(page: Page, site: Site) -> None:
    they = Hands(page, "mouse")
    page.goto("/account/login/")
    expect(page.locator("#passkey-failed")).to_be_hidden()
    they.fill("Email", "ana@example.org")

    they.press("Email me a code")

    shows(page, "ana@example.org")
    expect(page.locator("h1")).to_have_text("Enter your code")


@pytest.mark.parametrize("javascript", [True, False], ids=["with script", "without"])
@pytest.mark.parametrize("kind", ["phone", "narrow"])
def test_on_a_phone_one_button_opens_the_navigation(
    browser_page: OpenPage, site: Site, world: World, kind: str, javascript: bool
) -> None:
    page = browser_page(kind, javascript=javascript)
    sign_in_staff(page.context, site.url, world.owner)
    page.goto("/company/")
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    expect(links).to_have_count(0)

    page.get_by_role("button", name="Menu").click()

    expect(page.get_by_role("link", name="Settings")).to_be_visible()
    if javascript:
        axe(page)
        no_sideways_scroll(page)
    page.locator(".rail-who summary").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.locator("h1")).to_have_text("Settings")


def test_the_rail_finds_and_goes_by_keys(owner: Hands, world: World) -> None:
    owner.page.goto("/company/")

    owner.page.get_by_role("link", name="Find").click()
    dialog = owner.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_role("searchbox").fill("webh")
    expect(dialog.get_by_role("link")).to_have_count(1)  # the answer to the last letter has come
    expect(dialog.get_by_role("link")).to_have_text(re.compile("Webhooks"))
    owner.page.keyboard.press("Enter")
    owner.page.wait_for_url("**/company/webhooks/")

    owner.page.keyboard.press("g")
    owner.page.keyboard.press("s")

    owner.page.wait_for_url("**/company/settings/")
