"""The buttons by which people and staff sign in, keep accounts and leave, pressed in a browser."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from applicants.models import Applicant
from pipeline.models import Application
from tests.browser.buttons import PASSKEYS, PRESSED, STORIES, shows
from tests.browser.helpers import half_a_minute_later, sign_in_applicant, sign_in_staff
from tests.browser.mails import code_in, last_mail
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories
from tests.support.accounts import PASSWORD, app_code, is_signed_in, member_of, sign_in
from tests.support.environment import ROOT

pytestmark = pytest.mark.slow
# In each run, `tests/pages` sends what each of these buttons sends.
in_turns = pytest.mark.in_turns(3)


@in_turns
def test_staff_sign_in_by_a_code_and_sign_out(page: Page, site: Site) -> None:
    user = member_of(factories.company(name="Acme"))
    they = Hands(page, "mouse")
    page.goto("/account/login/")
    they.fill("Email", user.email)
    they.press("Email me a code")
    mail = last_mail(site.mails, user.email)
    code = next(line.strip() for line in mail.splitlines() if is_staff_code(line.strip()))

    they.fill("Code", code)
    they.press("Sign in")

    expect(page.locator(".who-name")).to_have_text("Acme")
    page.locator(".who summary").click()
    they.press("Sign out")
    page.goto("/company/")
    shows(page, "Company sign-in")


@in_turns
def test_other_sessions_are_ended(page: Page, site: Site, settings: Any) -> None:
    # Signing in with a password that is hashed in fewer rounds hashes it anew, which ends all other
    # sessions of its owner.
    settings.PASSWORD_HASHERS = settings.PASSWORD_HASHERS[1:]
    user = member_of(factories.company(name="Acme"), password=PASSWORD)
    other = Client()
    sign_in(user.email, PASSWORD, other)
    they = Hands(page, "mouse")
    page.goto("/account/login/")
    they.fill("Email", user.email)
    they.fill("Password", PASSWORD)
    they.press("Sign in")
    page.goto("/account/sessions/")

    they.press("Sign out everywhere else")

    shows(page, "You are signed out everywhere else.")
    assert not is_signed_in(other)


def is_staff_code(line: str) -> bool:
    return 6 <= len(line) <= 12 and " " not in line and line.upper() == line and line.isascii()


@in_turns
def test_a_forgotten_password(page: Page, site: Site) -> None:
    user = member_of(factories.company())
    they = Hands(page, "mouse")
    page.goto("/account/password/reset/")

    they.fill("Email", user.email)
    page.locator("#main form button").first.click()

    assert "/account/password/reset/key/" in last_mail(site.mails, user.email)


@in_turns
def test_a_first_password_is_chosen(owner: Hands, world: World) -> None:
    owner.page.goto("/account/password/set/")

    owner.page.locator("#id_password1").fill("a long and quiet sentence")
    owner.page.locator("#id_password2").fill("a long and quiet sentence")
    owner.page.locator("#main form button").first.click()

    shows(owner.page, "Your account")
    world.owner.refresh_from_db()
    assert world.owner.check_password("a long and quiet sentence")


@in_turns
def test_an_applicant_signs_in_with_a_second_code_and_out(page: Page, site: Site) -> None:
    person = factories.applicant(name="Ana")
    they = Hands(page, "mouse")
    page.goto("/sign-in/")
    they.fill("Email address", person.email)
    page.locator("#main form button").first.click()
    first = code_in(last_mail(site.mails, person.email, saying="your code"))

    they.press("Send a new code")
    shows(page, "We have just sent you a code.")
    half_a_minute_later(page, person.email)
    they.press("Send a new code")
    shows(page, "We have sent you a new code.")
    second = code_in(_another_than(first, site, person))
    they.fill("Code", second)
    they.press("Sign in")
    shows(page, "Your applications")
    page.locator(".who summary").click()
    they.press("Sign out")

    page.goto("/me/")
    expect(page).to_have_url(f"{site.url}/sign-in/?next=/me/")


def _another_than(code: str, site: Site, person: Applicant) -> str:
    for _ in range(600):
        mail = last_mail(site.mails, person.email, saying="your code")
        if code not in mail:
            return mail
        time.sleep(0.1)
    raise AssertionError("no second code came")


@in_turns
def test_an_applicant_erases_themselves(browser_page: OpenPage, site: Site, world: World) -> None:
    page = browser_page("phone")
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto("/me/data/")
    they = Hands(page, "mouse")

    they.follow("See what is erased and what stays")
    page.locator("#main input[type=checkbox]").check()
    they.press("Erase my data")

    page.goto("/me/")
    expect(page).to_have_url(f"{site.url}/sign-in/?next=/me/")
    assert not Application.objects.filter(name=world.applicant.name).exists()


@in_turns
def test_an_applicant_changes_their_name(page: Page, site: Site, world: World) -> None:
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{world.offered.id}/")
    they = Hands(page, "mouse")

    they.follow("Change the name")
    they.fill("name", "Quentin le Roy")
    they.press("Save the name")

    shows(page, "The company now sees this name.")
    world.offered.refresh_from_db()
    assert world.offered.name == "Quentin le Roy"


@in_turns
def test_an_applicant_wants_no_seat_before_a_date(page: Page, site: Site, world: World) -> None:
    waiting = world.my_place
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{waiting.id}/")
    they = Hands(page, "mouse")

    they.follow("Not before a date…")
    they.fill("Not before", str((timezone.now() + timedelta(days=9)).date()))
    they.press("Save the date")
    shows(page, "You keep your place in line.")
    assert factories.fresh(waiting).not_before
    they.press("Offer me seats again")

    shows(page, "You can be offered a seat at any time again.")
    assert factories.fresh(waiting).not_before is None


@in_turns
def test_an_end_is_looked_at_again(browser_page: OpenPage, site: Site, world: World) -> None:
    applicants, companies = browser_page(), browser_page()
    sign_in_applicant(applicants.context, site.url, world.applicant)
    applicants.goto(f"/me/applications/{world.ended.id}/")
    they = Hands(applicants, "mouse")
    they.follow("Ask the company to look again…")
    they.fill("What should the company know?", "You read the wrong page.")
    they.press("Send to the company")
    shows(applicants, "Sent. The company will look again")

    sign_in_staff(companies.context, site.url, world.owner)
    companies.goto("/company/")
    we = Hands(companies, "mouse")
    we.follow("Look again")
    we.follow(world.applicant.name)
    we.follow("Answer…")
    companies.get_by_label("Give their place back: an error on the company’s side").check()
    we.fill("Your answer to the applicant", "You are right.")
    we.press("Send the answer")

    shows(companies, "Answered. We will email the applicant.")
    assert factories.status_of(world.ended) == "PENDING_ACKNOWLEDGMENT"
    applicants.goto(f"/me/applications/{world.ended.id}/")
    shows(applicants, "You are right.")


@in_turns
def test_an_applicant_says_yes_in_advance(page: Page, site: Site, world: World) -> None:
    waiting = world.my_place
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{waiting.id}/")
    they = Hands(page, "mouse")

    they.follow("Say yes in advance…")
    they.fill("Accept a seat for me until", str((timezone.now() + timedelta(days=9)).date()))
    they.press("Say yes")
    shows(page, "If your turn comes before then, the seat is yours at once.")
    assert factories.fresh(waiting).accept_until
    they.follow("Change my acceptance…")
    they.press("Cancel my acceptance")

    shows(page, "You will be asked to confirm when it is your turn.")
    assert factories.fresh(waiting).accept_until is None


@in_turns
def test_an_applicant_passes_the_next_turn(page: Page, site: Site, world: World) -> None:
    waiting = world.my_place
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto(f"/me/applications/{waiting.id}/")
    they = Hands(page, "mouse")

    they.follow("Pass my next turn…")
    they.press("Pass my next turn")
    shows(page, "Saved. You will pass your next turn and keep your place.")
    assert factories.fresh(waiting).pass_next
    they.follow("Don\u2019t pass my next turn…")
    they.press("I want my next turn")

    shows(page, "Saved. You will be offered a seat when it is your turn.")
    assert not factories.fresh(waiting).pass_next


@in_turns
def test_a_password_is_changed(page: Page, site: Site, world: World) -> None:
    world.owner.set_password("correct horse")
    world.owner.save()
    sign_in_staff(page.context, site.url, world.owner)
    page.goto("/account/password/change/")

    page.locator("#id_oldpassword").fill("correct horse")
    page.locator("#id_password1").fill("a long and quiet sentence")
    page.locator("#id_password2").fill("a long and quiet sentence")
    Hands(page, "mouse").press("Save password")

    shows(page, "Your account")
    world.owner.refresh_from_db()
    assert world.owner.check_password("a long and quiet sentence")


@in_turns
def test_an_address_is_changed(owner: Hands, site: Site, world: World) -> None:
    mine = {"user": world.owner, "email": world.owner.email, "verified": True, "primary": True}
    EmailAddress.objects.update_or_create(user=world.owner, defaults=mine)
    owner.page.goto("/account/email/")

    owner.fill("Email", "elsewhere@example.org")
    owner.press("Send link")

    shows(owner.page, "elsewhere@example.org")
    assert "/account/confirm-email/" in last_mail(site.mails, "elsewhere@example.org")


@in_turns
def test_an_authenticator_app_is_added(owner: Hands, world: World) -> None:
    owner.page.goto("/account/2fa/totp/activate/")
    secret = str(owner.page.locator("code.secret").text_content())

    owner.fill("Code", app_code(secret))
    owner.press("Turn on")

    shows(owner.page, "ecovery codes")


def test_every_button_is_pressed_by_a_test_that_is_there() -> None:
    room = ROOT / "tests" / "browser"
    said = "".join(path.read_text() for path in room.glob("test_*.py"))

    files = {STORIES, PASSKEYS}
    assert all((room / name).exists() for name in files)
    assert [name for name in set(PRESSED.values()) - files if f"def {name}(" not in said] == []
