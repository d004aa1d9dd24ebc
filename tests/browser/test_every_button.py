"""Every button that changes something, pressed in a browser, and what the page shows then.

Those that the main stories press stand in test_stories; sign-in's own in test_passkeys and here.
`PRESSED` says where; test_every_page finds every form of every page and looks it up there.
"""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page, expect

from applicants.models import Applicant
from jobs.models import ApiKey, Membership, Role
from pipeline.models import Application
from tests import make
from tests.browser.conftest import OpenPage, Site
from tests.browser.hands import Hands
from tests.browser.helpers import member, sign_in_applicant, sign_in_staff
from tests.browser.mails import code_in, last_mail
from tests.browser.world import World, make_world

pytestmark = pytest.mark.slow

STORIES = "test_stories"
PRESSED = {
    "account_login": STORIES,
    "account_logout": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_request_login_code": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_confirm_login_code": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_reset_password": "test_a_forgotten_password",
    "account_email": "test_passkeys or test_second_step",
    "account_change_password": "test_passkeys or test_second_step",
    "account_set_password": "test_a_first_password_is_chosen",
    "account_reauthenticate": "test_passkeys",
    "mfa_login_webauthn": "test_passkeys",
    "mfa_activate_totp": "test_passkeys or test_second_step",
    "mfa_add_webauthn": "test_passkeys",
    "add_person": STORIES,
    "api_keys": "test_keys_are_made_and_revoked",
    "apply": STORIES,
    "confirm_mine": STORIES,
    "decide": STORIES,
    "enter_code": STORIES,
    "erase_me": "test_an_applicant_erases_themselves",
    "job_capacity": "test_seats_are_changed",
    "job_close": STORIES,
    "job_open": "test_a_draft_is_opened",
    "job_pause": STORIES,
    "job_settings": "test_settings_are_saved",
    "new_job": STORIES,
    "revoke_key": "test_keys_are_made_and_revoked",
    "sign_in": "test_an_applicant_signs_in_with_a_second_code_and_out",
    "sign_out": "test_an_applicant_signs_in_with_a_second_code_and_out",
    "switch_company": "test_somebody_acts_for_another_company",
    "system": "test_a_log_is_verified_from_the_system_page",
    "take_offer": STORIES,
    "team": "test_the_team_grows_changes_and_shrinks",
    "team_member": "test_the_team_grows_changes_and_shrinks",
    "verify_log": STORIES,
    "withdraw_mine": STORIES,
}


@pytest.fixture
def world(site: Site) -> World:
    """What the pages show."""
    return make_world()


@pytest.fixture
def owner(page: Page, site: Site, world: World) -> Hands:
    """The hands of the company's owner, on a page of their own."""
    sign_in_staff(page.context, site.url, world.owner)
    return Hands(page, "mouse")


def shows(page: Page, text: str) -> None:
    expect(page.locator("#main")).to_contain_text(text)


def test_a_draft_is_opened(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.draft}/")

    owner.press("Open: everybody sees it and can apply")

    shows(owner.page, "The job is open: people can apply.")
    assert make.row_of(world.draft).status == "OPEN"


def test_seats_are_changed(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/capacity/")

    owner.fill("Seats", "11")
    owner.press("See what that does")
    owner.press("Change to 11 seats")

    shows(owner.page, "The job has 11 seats now.")
    assert make.row_of(world.job).capacity == 11


def test_settings_are_saved(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/settings/")

    owner.fill("Title", "Payments engineer")
    owner.press("Save the posting")
    expect(owner.page.get_by_role("heading", level=1)).to_have_text("Payments engineer")
    owner.fill("Places lost by a miss", "2")
    owner.press("Save the rules")

    shows(owner.page, "a second miss costs 4")
    assert make.row_of(world.job).penalty_places == 2


@pytest.mark.parametrize(
    ("button", "outcome"),
    [("Reject", "REJECTED"), ("Remove", "REMOVED")],
)
def test_people_are_decided_on(owner: Hands, world: World, button: str, outcome: str) -> None:
    owner.page.goto(f"/company/applications/{world.waiting.id}/decide/")

    owner.press(button)

    shows(owner.page, world.waiting.name)
    assert make.status_of(world.waiting) == outcome


def test_the_team_grows_changes_and_shrinks(owner: Hands, site: Site, world: World) -> None:
    owner.page.goto("/company/team/")
    owner.fill("Email address", "new@example.org")
    owner.press("Add to the team")
    shows(owner.page, "new@example.org")
    assert last_mail(site.mails, "new@example.org", saying="Northwind Labs")

    added = Membership.objects.get(user__email="new@example.org")
    owner.page.goto(f"/company/team/{added.id}/")
    owner.page.get_by_label("Viewer").first.check()
    owner.press("Save the role")
    shows(owner.page, "viewer")
    owner.page.goto(f"/company/team/{added.id}/")
    owner.page.locator("#main details summary").click()
    owner.press("Remove: new@example.org loses access now")

    expect(owner.page).to_have_url(f"{site.url}/company/team/")
    assert not Membership.objects.filter(id=added.id).exists()


def test_keys_are_made_and_revoked(owner: Hands, world: World) -> None:
    owner.page.goto("/company/keys/")
    owner.fill("Name", "Reports")
    owner.press("Make the key")
    shows(owner.page, "Copy the key now")
    key = owner.page.get_by_label("Reports").input_value()
    assert key.startswith("nilk_")

    owner.follow("I have it")
    owner.follow("Revoke Reports")
    owner.press("Revoke: “Reports” stops working now")

    shows(owner.page, "Revoked")
    assert ApiKey.objects.get(name="Reports").revoked_at


def test_a_log_is_verified_from_the_system_page(owner: Hands, world: World) -> None:
    owner.page.goto("/company/system/")

    owner.press("Verify Data scientist")

    shows(owner.page, "nothing changed or missing")


def test_somebody_acts_for_another_company(owner: Hands, world: World) -> None:
    other = make.company(name="Southwind")
    Membership.objects.create(company=other, user=world.owner, role=Role.VIEWER)
    owner.page.goto("/company/")

    owner.page.locator(".who summary").click()
    owner.press("Switch to Southwind")

    expect(owner.page.locator(".who-name")).to_have_text("Southwind")


def test_staff_sign_in_by_a_code_and_sign_out(page: Page, site: Site) -> None:
    user = member(make.company(name="Acme"))
    they = Hands(page, "mouse")
    page.goto("/account/login/")
    they.follow("Send me a code by mail")
    they.fill("Email", user.email)
    they.press("Send the code")
    mail = last_mail(site.mails, user.email)
    code = next(line.strip() for line in mail.splitlines() if is_staff_code(line.strip()))

    they.fill("Code", code)
    they.press("Sign in")

    expect(page.locator(".who-name")).to_have_text("Acme")
    page.locator(".who summary").click()
    they.press("Sign out")
    page.goto("/company/")
    shows(page, "Company sign-in")


def is_staff_code(line: str) -> bool:
    return 6 <= len(line) <= 12 and " " not in line and line.upper() == line and line.isascii()


def test_a_forgotten_password(page: Page, site: Site) -> None:
    user = member(make.company())
    they = Hands(page, "mouse")
    page.goto("/account/password/reset/")

    they.fill("Email", user.email)
    page.locator("#main form button").first.click()

    assert "/account/password/reset/key/" in last_mail(site.mails, user.email)


def test_a_first_password_is_chosen(owner: Hands, world: World) -> None:
    owner.page.goto("/account/password/set/")

    owner.page.locator("#id_password1").fill("a long and quiet sentence")
    owner.page.locator("#id_password2").fill("a long and quiet sentence")
    owner.page.locator("#main form button").first.click()

    shows(owner.page, "Your account")
    world.owner.refresh_from_db()
    assert world.owner.check_password("a long and quiet sentence")


def test_an_applicant_signs_in_with_a_second_code_and_out(page: Page, site: Site) -> None:
    person = make.applicant(name="Ana")
    they = Hands(page, "mouse")
    page.goto("/sign-in/")
    they.fill("Email address", person.email)
    page.locator("#main form button").first.click()
    first = code_in(last_mail(site.mails, person.email, saying="your code"))

    they.press("Send a new code")
    shows(page, "Check your mail")
    second = code_in(_another_than(first, site, person))
    they.fill("Code", second)
    they.press("Sign in")
    shows(page, "Your applications")
    page.locator(".who summary").click()
    they.press("Sign out")

    page.goto("/me/")
    expect(page).to_have_url(f"{site.url}/sign-in/?next=/me/")


def _another_than(code: str, site: Site, person: Applicant) -> str:
    for _ in range(50):
        mail = last_mail(site.mails, person.email, saying="your code")
        if code not in mail:
            return mail
        time.sleep(0.1)
    raise AssertionError("no second code came")


def test_an_applicant_erases_themselves(browser_page: OpenPage, site: Site, world: World) -> None:
    page = browser_page("phone")
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto("/me/data/")
    they = Hands(page, "mouse")

    they.follow("What would go, and what would stay")
    page.locator("#main input[type=checkbox]").check()
    they.press("Erase me")

    page.goto("/me/")
    expect(page).to_have_url(f"{site.url}/sign-in/?next=/me/")
    assert not Application.objects.filter(name=world.applicant.name).exists()


def test_everything_that_is_said_to_be_pressed_is_a_test() -> None:
    tests = {name for name in globals() if name.startswith("test_")}
    elsewhere = {STORIES, "test_passkeys", "test_passkeys or test_second_step"}

    assert set(PRESSED.values()) - tests - elsewhere == set()
