"""Provisioning in a browser: an owner makes a token, and the provider uses it."""

from __future__ import annotations

import pytest

from jobs.models import Membership, Role
from pipeline.sign_on import providers
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.pointer import Hands
from tests.browser.world import World
from tests.provisioning.conftest import ADA, Scim, provider_of

pytestmark = pytest.mark.slow


def look_at(hands: Hands, name: str) -> None:
    axe(hands.page)
    no_sideways_scroll(hands.page)
    shot(hands.page, name)


def test_an_owner_makes_a_token_and_ends_it(owner: Hands, world: World) -> None:
    page = owner.page
    page.goto("/company/provisioning/")
    shows(page, "Set up single sign-on and prove a domain first.")
    row = provider_of(world.company)
    maker = Membership.objects.filter(company=world.company, role=Role.OWNER).first()
    assert maker
    providers.set_group_role(row, group="hr", role=Role.VIEWER, by=maker.user_id)

    page.goto("/company/provisioning/")
    owner.press("Make token")
    shows(page, "It is shown only once.")
    look_at(owner, "provisioning-token")
    scim = Scim(page.get_by_label("Token", exact=True).input_value())
    ada = scim.add()
    scim.group("hr", ada["id"])
    scim.group("Everyone at Acme", ada["id"])
    page.goto("/company/provisioning/")
    shows(page, "gives a role")
    shows(page, "no role yet")
    look_at(owner, "provisioning")

    assert Membership.objects.get(user__email=ADA).role == Role.VIEWER
    owner.press("Replace token")
    shows(page, "After that, the present token works for another 24 hours.")
    page.get_by_role("button", name="End now").first.click()
    shows(page, "The token works no more.")
