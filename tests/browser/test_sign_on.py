"""Single sign-on in a browser, with a whole OpenID Connect provider on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from django.db.models.functions import Now

from jobs.models import Membership
from pipeline.models import IdentityProvider
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage
from tests.browser.world import World
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow
DOMAIN = "northwind.example"
ADA = f"ada@{DOMAIN}"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Return the address of a provider that knows Ada, who is in the group `hr`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses an older part of Authlib
        from oidc_provider_mock import User, run_server_in_thread

        ada = User(sub="ada", claims={"email": ADA, "email_verified": True, "groups": ["hr"]})
        with run_server_in_thread(user_claims=[ada]) as server:
            yield f"http://localhost:{server.server_port}"


def look_at(hands: Hands, name: str) -> None:
    axe(hands.page)
    no_sideways_scroll(hands.page)
    shot(hands.page, name)


def test_an_owner_sets_single_sign_on_up_and_members_use_it(
    owner: Hands,
    browser_page: OpenPage,
    world: World,
    issuer: str,
    expected_problems: list[str],
) -> None:
    expected_problems += ["422", "ERR_NAME_NOT_RESOLVED"]  # the provider loads its style from afar
    _set_up(owner, issuer)
    _try(owner)
    member_of(world.company, email=f"bo@{DOMAIN}")
    for javascript in (True, False):
        _sign_on(Hands(browser_page(javascript=javascript), "mouse"), looks=javascript)
    _remove(owner)


def _set_up(owner: Hands, issuer: str) -> None:
    page = owner.page
    page.goto("/company/sign-on/")
    look_at(owner, "sign-on-empty")
    owner.fill("Name", "Northwind account")
    owner.fill("Issuer", f"{issuer}/other")
    owner.fill("Client ID", "next-in-line")
    owner.fill("Client secret", "of the client")
    owner.press("Save")
    shows(page, "No answer from this address.")
    owner.fill("Issuer", issuer)
    owner.fill("Client secret", "of the client")
    owner.press("Save")
    shows(page, "Saved. The provider answers.")

    owner.fill("Domain of your email addresses", DOMAIN)
    owner.press("Add domain")
    shows(page, f"_next-in-line-sign-on.{DOMAIN}")
    owner.press(f"Check now {DOMAIN}")
    shows(page, "not proved yet")
    IdentityProvider.objects.get().domains.update(proved_at=Now(), problem="")
    page.locator("#id_group").fill("hr")
    page.locator("#id_role").select_option("RECRUITER")
    owner.press("Add group")
    shows(page, "Roles follow the groups at each sign-in, and at once with provisioning.")
    look_at(owner, "sign-on")


def _try(owner: Hands) -> None:
    page = owner.page
    owner.press("Try it now")
    page.get_by_role("button", name="ada", exact=True).first.click()
    shows(page, "It works")
    shows(page, ADA)
    look_at(owner, "sign-on-trial")
    owner.follow("Back to the settings")
    page.get_by_text("Only by single sign-on").click()
    owner.press("Require it")
    shows(page, "Single sign-on is now the only way in.")


def _sign_on(colleague: Hands, *, looks: bool) -> None:
    page = colleague.page
    page.goto("/account/login/")
    colleague.follow("Use single sign-on")
    if looks:
        look_at(colleague, "sign-on-ask")
    colleague.fill("Work email", ADA)
    colleague.press("Continue")
    page.get_by_role("button", name="ada", exact=True).first.click()
    shows(page, "New job")
    assert Membership.objects.get(user__email=ADA).role == "RECRUITER"
    page.goto("/account/logout/")
    colleague.press("Sign out")
    shows(page, "You are signed out here")
    if looks:
        look_at(colleague, "sign-on-out")


def _remove(owner: Hands) -> None:
    page = owner.page
    page.goto("/company/sign-on/")
    owner.press("Make it optional")
    shows(page, "Single sign-on is now optional.")
    owner.press("Remove hr")
    owner.press("Save the usual role")
    owner.press(f"Remove {DOMAIN}")
    page.locator("#remove summary").click()
    owner.press("Remove single sign-on")
    shows(page, "Single sign-on is removed.")
    assert not IdentityProvider.objects.exists()
