"""A passkey is added and signs in, in a browser with an authenticator that Chromium plays."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Page, expect

from jobs.models import Membership, Role, User
from tests.browser.helpers import usable_by_everybody
from tests.browser.site import Site
from tests.support import factories

PASSWORD = "correct horse"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def ada(site: Site) -> User:
    """An owner with a password."""
    cache.clear()
    user = factories.UserFactory.create(email="ada@example.org")
    Membership.objects.create(company=factories.company(name="Acme"), user=user, role=Role.OWNER)
    return user


@pytest.fixture
def here(site: Site) -> str:
    """The server by a name: passkeys belong to names, not to addresses of digits."""
    return site.url.replace("127.0.0.1", "localhost")


def give_authenticator(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def sign_in_by_password(page: Page, here: str) -> None:
    page.goto(f"{here}/account/login/")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def add_passkey(page: Page, here: str) -> None:
    page.goto(f"{here}/account/2fa/webauthn/add/")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Work laptop")
    page.get_by_role("button", name="Create passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()


def sign_out(page: Page, here: str) -> None:
    page.goto(f"{here}/account/logout/")
    page.get_by_role("main").get_by_role("button", name="Sign out").click()


def test_a_passkey_signs_in_alone_and_is_a_second_step_after_the_password(
    page: Page, ada: User, here: str
) -> None:
    give_authenticator(page)
    sign_in_by_password(page, here)
    add_passkey(page, here)
    sign_out(page, here)

    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/company/")
    sign_out(page, here)
    sign_in_by_password(page, here)
    page.get_by_role("heading", name="One more step").wait_for()
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/company/")

    assert page.request.get(f"{here}/account/").status == 200
    page.goto(f"{here}{reverse('mfa_reauthenticate_webauthn')}")
    usable_by_everybody(page, "mfa_reauthenticate_webauthn")


def test_what_the_browser_refuses_is_said(page: Page, ada: User, site: Site) -> None:
    page.goto(f"{site.url}/account/login/")  # by its address of digits, for which there are none
    button, said = page.get_by_role("button", name="Use a passkey"), page.locator("#passkey-failed")
    expect(button).to_be_visible()
    expect(said).to_be_hidden()  # before somebody tries one

    button.click()

    expect(said).to_contain_text("Passkeys do not work at this address.")
    expect(said.get_by_role("link")).to_have_attribute("href", re.compile("//localhost:"))
