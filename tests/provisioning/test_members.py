"""Members and groups as Entra and Okta provision them: roles follow, and access ends at once."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs import keys
from jobs.models import Activity, ApiKey, Company, Membership, Role, Scope, User
from pipeline.models import IdentityProvider, ProvisionedUser
from pipeline.provisioning.roles import KEY, MOST_AT_ONCE
from pipeline.sign_on import providers
from tasks.models import Status
from tests.provisioning.conftest import ADA, DOMAIN, Scim, person, signed_in
from tests.support.accounts import browser_of, is_signed_in, member_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def role_of(email: str = ADA) -> str | None:
    """Return a member's role; None if they are no member."""
    member = Membership.objects.filter(user__email=email).first()
    return member.role if member else None


def map_groups(row: IdentityProvider, owner: User, **roles: Role) -> None:
    """Let groups give roles."""
    for group, role in roles.items():
        providers.set_group_role(row, group=group, role=role, by=owner.id)


def test_a_person_is_created_read_and_listed(scim: Scim) -> None:
    made = scim.ask("POST", "Users", person())
    known = scim.ask("GET", f"Users/{made.data['id']}")

    assert (made.status_code, known.status_code) == (201, 200)
    assert made["Location"] == made.data["meta"]["location"]
    assert known.data["userName"] == ADA
    assert known.data["emails"] == [{"value": ADA, "type": "work", "primary": True}]
    assert "title" not in known.data, "only what is needed is kept"
    for text in (
        f'userName eq "{ADA.upper()}"',
        f'externalId eq "x-{ADA}"',
        'active eq true and displayName sw "ada"',
        f'emails[type eq "work" and value eq "{ADA}"]',
        f'userName eq "nobody" or not (active eq false) and id eq "{made.data["id"]}"',
    ):
        found = scim.ask("GET", "Users?filter=" + text.replace(" ", "%20"))
        assert [each["id"] for each in found.data["Resources"]] == [made.data["id"]], text
    assert scim.ask("GET", 'Users?filter=userName%20eq%20"x"').data["totalResults"] == 0


def test_pages_begin_at_one_and_are_at_most_a_hundred(scim: Scim) -> None:
    for n in range(3):
        scim.add(f"p{n}@{DOMAIN}")

    second = scim.ask("GET", "Users?startIndex=2&count=1").data
    none = scim.ask("GET", "Users?count=0").data
    odd = scim.ask("GET", "Users?startIndex=-5&count=100000").data

    assert (second["totalResults"], second["itemsPerPage"], second["startIndex"]) == (3, 1, 2)
    assert second["Resources"][0]["userName"] == f"p1@{DOMAIN}"
    assert (none["totalResults"], none["Resources"]) == (3, [])
    assert (odd["startIndex"], odd["itemsPerPage"]) == (1, 3)


def test_groups_give_roles_and_take_them_at_once(
    company: Company, row: IdentityProvider, owner: User, scim: Scim
) -> None:
    map_groups(row, owner, hr=Role.RECRUITER, all=Role.VIEWER)
    ada = scim.add()
    assert role_of() is None, "no group yet"

    hr = scim.group("hr", ada["id"])
    assert role_of() == Role.RECRUITER
    browser = signed_in(User.objects.get(email=ADA))
    scim.group("all", ada["id"])
    # As Entra removes a member.
    scim.patch(f"Groups/{hr['id']}", {"op": "Remove", "path": f'members[value eq "{ada["id"]}"]'})
    assert role_of() == Role.VIEWER
    assert is_signed_in(browser), "a role remains"
    everyone = scim.ask("GET", 'Groups?filter=displayName%20eq%20"ALL"').data["Resources"][0]
    # As Entra does it without the option for the standard.
    removal = {"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]}
    answer = scim.patch(f"Groups/{everyone['id']}", removal)

    assert answer.status_code == 200, answer.content
    assert role_of() is None
    assert not is_signed_in(browser)
    assert ProvisionedUser.objects.get().is_active, "they can come back by a group"
    told = Activity.objects.filter(company=company, kind="member.access_ended").get()
    assert told.actor_id == row.tokens.get().id
    page = browser_of(owner).get("/company/activity/").content.decode()
    assert "the provisioning token nils_" in page


def test_a_large_group_is_answered_at_once_and_its_roles_follow_by_tasks(
    row: IdentityProvider, owner: User, scim: Scim
) -> None:
    map_groups(row, owner, hr=Role.RECRUITER)
    people = [scim.add(f"p{n}@{DOMAIN}")["id"] for n in range(MOST_AT_ONCE + 1)]
    team = Membership.objects.filter(company=row.company, role=Role.RECRUITER)

    hr = scim.group("hr", *people)
    assert team.count() == 0
    assert run_due_tasks(KEY) == [Status.SUCCEEDED] * 2
    assert team.count() == len(people)

    scim.patch(f"Groups/{hr['id']}", {"op": "remove", "path": "members"})
    # What a part does is what groups say when it runs: they may be back meanwhile.
    back = {"op": "add", "path": "members", "value": [{"value": people[0]}]}
    scim.patch(f"Groups/{hr['id']}", back)
    assert run_due_tasks(KEY) == [Status.SUCCEEDED] * 2
    assert [each.user.email for each in team] == [f"p0@{DOMAIN}"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": "active", "value": "False"},  # Entra
        {"op": "replace", "value": {"active": False}},  # Okta
    ],
)
def test_deactivation_ends_sessions_and_keys_at_once(
    company: Company, row: IdentityProvider, owner: User, scim: Scim, operation: dict[str, object]
) -> None:
    user = member_of(company, Role.OWNER, email=ADA)
    _, key = keys.create(company_id=company.id, name="k", scopes=[Scope.READ], by=user.id)
    _, kept = keys.create(company_id=company.id, name="o", scopes=[Scope.READ], by=owner.id)
    browser = signed_in(user)
    ada = scim.add()
    assert role_of() == Role.OWNER, "adopted as they are"

    answer = scim.patch(f"Users/{ada['id']}", operation)

    assert (answer.status_code, answer.data["active"]) == (200, False)
    assert role_of() is None
    assert not is_signed_in(browser)
    assert keys.find(key) is None
    assert keys.find(kept), "the keys of others stay"
    assert ApiKey.objects.get(name="k").revoked_at
    again = scim.patch(f"Users/{ada['id']}", {"op": "replace", "path": "active", "value": True})
    assert again.data["active"] is True


def test_deletion_ends_access_and_keeps_the_account(
    company: Company, row: IdentityProvider, scim: Scim
) -> None:
    user = member_of(company, Role.VIEWER, email=ADA)
    browser = signed_in(user)
    ada = scim.add()

    gone = scim.ask("DELETE", f"Users/{ada['id']}")

    assert (gone.status_code, gone.content) == (204, b"")
    assert role_of() is None
    assert not is_signed_in(browser)
    assert User.objects.filter(id=user.id).exists()
    assert scim.ask("GET", f"Users/{ada['id']}").status_code == 404


def test_an_address_and_a_name_change(scim: Scim) -> None:
    ada = scim.add()
    new = f"ada.king@{DOMAIN}"

    answer = scim.patch(
        f"Users/{ada['id']}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": new},
        {"op": "Replace", "path": "userName", "value": new},
        {"op": "Add", "path": "displayName", "value": "Ada King"},
        {"op": "Add", "path": "name.givenName", "value": "Ada"},
    )

    assert answer.status_code == 200, answer.content
    user = User.objects.get(email=new)
    assert user.name == "Ada King"
    assert list(user.emailaddress_set.values_list("email", "verified")) == [(new, True)]


def test_versions_protect_from_lost_changes(scim: Scim) -> None:
    ada = scim.add()
    at, tag = f"Users/{ada['id']}", ada["meta"]["version"]

    unchanged = scim.ask("GET", at, **{"If-None-Match": tag})
    scim.ask("PUT", at, person(displayName="Ada King"), **{"If-Match": tag})
    late = scim.ask("PUT", at, person(displayName="Ada Byron"), **{"If-Match": tag})

    assert unchanged.status_code == 304
    assert late.status_code == 412
    assert User.objects.get(email=ADA).name == "Ada King"


def test_a_key_of_the_api_does_not_open_scim_nor_the_token_the_api(
    company: Company, scim: Scim
) -> None:
    _, key = keys.create(company_id=company.id, name="k", scopes=[Scope.READ, Scope.WRITE])

    refused = Scim(key).ask("GET", "Users")
    other = Client().get("/api/v1/jobs", headers={"Authorization": f"Bearer {scim.secret}"})

    assert refused.status_code == 401
    assert refused["WWW-Authenticate"].startswith("Bearer")
    assert refused.data["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert other.status_code == 401
