"""The page of provisioning: who may open it, the token that is shown once, and the groups sent."""

from __future__ import annotations

import re

import pytest

from jobs.models import Company, Role, User
from pipeline.models import IdentityProvider
from pipeline.sign_on import providers
from tests.provisioning.conftest import Scim, signed_in
from tests.support.accounts import PASSWORD, browser_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/company/provisioning/"


def test_an_owner_makes_a_token_that_is_shown_once(
    company: Company, row: IdentityProvider, owner: User
) -> None:
    browser = signed_in(owner)

    asked = browser.post(PAGE, {"company_id": str(company.id)})
    assert asked.status_code == 302
    assert asked.url.startswith("/account/reauthenticate/")  # type: ignore[attr-defined]
    made = browser.post(asked.url, {"password": PASSWORD})  # type: ignore[attr-defined]

    found = re.search(r"nils_[\w-]{43}", made.content.decode())
    assert made.status_code == 200
    assert found
    assert Scim(found[0]).ask("GET", "Users").status_code == 200
    page = browser.get(PAGE).content.decode()
    assert found[0] not in page
    assert "Last used" in page
    token = row.tokens.get()
    ended = browser.post(f"{PAGE}tokens/{token.id}/end/", {"company_id": str(company.id)})
    assert ended.status_code == 302
    assert Scim(found[0]).ask("GET", "Users").status_code == 401


def test_groups_that_are_sent_show_whether_they_give_a_role_and_get_it_at_once(
    company: Company, row: IdentityProvider, owner: User, scim: Scim
) -> None:
    ada = scim.add()
    scim.group("hr", ada["id"])
    browser = browser_of(owner)
    assert "no role yet" in browser.get(PAGE).content.decode()

    form = {"company_id": str(company.id), "group": "hr", "role": "VIEWER", "job": ""}
    browser.post("/company/sign-on/groups/", form)

    assert "gives a role" in browser.get(PAGE).content.decode()
    assert company.memberships.get(user__email="ada@acme.example").role == Role.VIEWER
    providers.remove(row, by=owner.id)
    assert scim.ask("GET", "Users").status_code == 401, "with the provider, its tokens end"


def test_only_owners_see_it(company: Company, row: IdentityProvider) -> None:
    assert browser_of(member_of(company, Role.RECRUITER)).get(PAGE).status_code == 403
