"""Attacks on provisioning: by other companies, by a token alone, and by what is sent with it."""

from __future__ import annotations

import threading
import time
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone

from jobs.models import Company, Membership, Role, User
from pipeline.models import IdentityProvider, ProvisionedUser, ProvisioningToken
from pipeline.provisioning import tokens
from pipeline.provisioning.filters import LONGEST
from pipeline.server.clients import Client as Caller
from pipeline.server.error_views import expects_problem
from pipeline.server.request_body import Body, BodyRoom
from pipeline.sign_on import people as sign_on
from pipeline.sign_on import providers
from pipeline.sign_on.people import SignOnRefused
from pipeline.sign_on.provider import Claims
from pipeline.web.rate_limit import Rate
from tests.provisioning.conftest import ADA, DOMAIN, Scim, person
from tests.support.accounts import browser_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_another_companys_people_and_groups_do_not_exist(scim: Scim, theirs: Scim) -> None:
    ada = scim.add()
    group = scim.group("hr", ada["id"])

    for path in (f"Users/{ada['id']}", f"Groups/{group['id']}"):
        assert theirs.ask("GET", path).status_code == 404
        assert theirs.ask("PUT", path, person()).status_code in (400, 404)
        assert theirs.patch(path, {"op": "remove", "path": "externalId"}).status_code == 404
        assert theirs.ask("DELETE", path).status_code == 404
    assert theirs.ask("GET", "Users").data["totalResults"] == 0
    assert theirs.ask("GET", f'Users?filter=id%20eq%20"{ada["id"]}"').data["totalResults"] == 0
    members = [{"value": ada["id"]}]
    body = {"schemas": group["schemas"], "displayName": "mine", "members": members}
    assert theirs.ask("POST", "Groups", body).data["scimType"] == "invalidValue"
    assert ProvisionedUser.objects.get().user.email == ADA


def test_a_replaced_token_works_for_a_day_and_an_ended_one_no_more(
    row: IdentityProvider, scim: Scim, owner: User
) -> None:
    new = Scim(tokens.make(row, by=owner.id)[1])
    assert (scim.ask("GET", "Users").status_code, new.ask("GET", "Users").status_code) == (200, 200)

    newest = Scim(tokens.make(row, by=owner.id)[1])
    assert [each.ask("GET", "Users").status_code for each in (scim, new, newest)] == [401, 200, 200]
    ProvisioningToken.objects.exclude(ends_at=None).update(ends_at=timezone.now())
    assert [each.ask("GET", "Users").status_code for each in (new, newest)] == [401, 200]
    tokens.end(row, row.tokens.get(ends_at=None).id, by=owner.id)
    assert newest.ask("GET", "Users").status_code == 401
    assert not ProvisioningToken.objects.filter(digest__contains=newest.secret.encode()).exists()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('userName eq "\') OR 1=1 --"', 200),
        ('userName eq "%" or userName sw "_"', 200),
        ('password eq "x"', 400),
        ('user.is_superuser eq "true"', 400),
        ('user__password sw "pbkdf2"', 400),
        ("userName eq", 400),
        ("(" * 300 + "active eq true" + ")" * 300, 400),
        ("not (" * 150 + "active eq true" + ")" * 150, 400),
        (" or ".join(['userName eq "a"'] * 30), 400),
        ('userName eq "' + "a" * LONGEST + '"', 400),
        ('userName eq "a\0b"', 400),
        ('userName eq "\\u0000"', 400),
        ('id eq "not an id"', 200),
        ('meta.created gt "yesterday"', 400),
        ("userName eq 7", 400),
    ],
)
def test_filters_neither_inject_nor_explode(scim: Scim, text: str, status: int) -> None:
    scim.add()

    began = time.monotonic()
    answer = scim.ask("GET", f"Users?filter={quote(text)}")

    assert answer.status_code == status, answer.content
    assert time.monotonic() - began < 2
    if status == 200:
        assert answer.data["totalResults"] == 0
    else:
        assert answer.data["scimType"] in ("invalidFilter", "invalidValue", "invalidPath")


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "replace", "path": "is_superuser", "value": True}, 200),  # ignored, as title is
        ({"op": "replace", "path": "__class__.__init__", "value": "x"}, 400),
        ({"op": "replace", "path": "id", "value": "x"}, 400),
        ({"op": "add", "path": "groups", "value": [{"value": "x"}]}, 400),
        ({"op": "remove"}, 400),
        ({"op": "explode", "path": "active"}, 400),
        ({"op": "replace", "path": "active", "value": {"a": 1}}, 400),
        ({"op": "replace", "path": "displayName", "value": "a\0b"}, 400),
        ({"op": "replace", "path": "displayName", "value": "a" * 300}, 400),
        ({"op": "replace", "path": "userName", "value": ""}, 400),
    ],
)
def test_patches_change_what_is_kept_and_nothing_else(
    scim: Scim, operation: dict[str, Any], status: int
) -> None:
    ada = scim.add()

    answer = scim.patch(f"Users/{ada['id']}", operation)

    assert answer.status_code == status, answer.content
    known = scim.ask("GET", f"Users/{ada['id']}").data
    assert known == ada
    assert not User.objects.filter(is_superuser=True).exists()


def test_a_token_alone_makes_nobody_an_owner(
    company: Company, row: IdentityProvider, owner: User, scim: Scim
) -> None:
    providers.set_group_role(row, group="owners", role=Role.OWNER, by=owner.id)
    ada = scim.add()

    scim.group("owners", ada["id"])
    by_token = Membership.objects.get(user__email=ADA).role
    claims = Claims("s", ADA, True, "Ada", frozenset({"owners"}))
    sign_on.admit(row, claims)

    assert by_token == Role.RECRUITER
    assert Membership.objects.get(user__email=ADA).role == Role.OWNER, "the provider signed it"


def test_addresses_at_unproved_domains_are_not_adopted(
    company: Company, scim: Scim, row: IdentityProvider
) -> None:
    victim = member_of(company, Role.VIEWER, email="victim@gmail.example")
    boss = User.objects.create_user(email=f"boss@{DOMAIN}", is_staff=True)

    taken = scim.ask("POST", "Users", person(victim.email, displayName="Mallory"))
    back_office = scim.ask("POST", "Users", person(boss.email))
    ada = scim.add()
    moved = scim.patch(
        f"Users/{ada['id']}",
        {"op": "replace", "path": "emails", "value": [{"value": "x@y.example"}]},
    )
    # Somebody whose account has moved to an address of their own.
    User.objects.filter(email=ADA).update(email="ada@private.example")
    stolen = scim.ask("PUT", f"Users/{ada['id']}", person(displayName="Mallory"))

    assert (taken.status_code, taken.data["scimType"]) == (400, "invalidValue")
    assert "has not proved" in taken.data["detail"]
    assert back_office.status_code == 403
    assert moved.status_code == 400
    assert stolen.status_code == 400
    victim.refresh_from_db()
    assert victim.name != "Mallory"
    assert User.objects.get(email="ada@private.example").name == "Ada Lovelace"
    gone = scim.ask("DELETE", f"Users/{ada['id']}")
    assert gone.status_code == 204, "their access ends all the same"


def test_the_last_owner_cannot_be_removed(
    company: Company, row: IdentityProvider, owner: User, scim: Scim
) -> None:
    member_of(company, Role.OWNER, email=ADA)
    ada = scim.add()
    off = {"op": "replace", "value": {"active": False}}
    Membership.objects.filter(user=owner).update(role=Role.RECRUITER)

    answers = [
        scim.patch(f"Users/{ada['id']}", off),
        scim.ask("DELETE", f"Users/{ada['id']}"),
        scim.ask("PUT", f"Users/{ada['id']}", person(active=False)),
    ]

    assert [each.status_code for each in answers] == [409, 409, 409]
    assert "last owner" in answers[0].data["detail"]
    assert ProvisionedUser.objects.get().is_active
    assert Membership.objects.get(user__email=ADA).role == Role.OWNER
    Membership.objects.filter(user=owner).update(role=Role.OWNER)
    assert scim.patch(f"Users/{ada['id']}", off).status_code == 200, "with another owner"


def test_who_made_the_token_can_be_deactivated_by_it(
    company: Company, row: IdentityProvider, owner: User
) -> None:
    maker = member_of(company, Role.OWNER, email=ADA)
    scim = Scim(tokens.make(row, by=maker.id)[1])
    ada = scim.add()

    answer = scim.patch(f"Users/{ada['id']}", {"op": "replace", "value": {"active": False}})

    assert answer.status_code == 200
    assert scim.ask("GET", "Users").status_code == 200, "the token is the company's"


def test_who_was_removed_by_an_owner_comes_back_by_nothing_provisioned(
    company: Company, row: IdentityProvider, owner: User, scim: Scim
) -> None:
    providers.set_group_role(row, group="hr", role=Role.VIEWER, by=owner.id)
    ada = scim.add()
    scim.group("hr", ada["id"])
    member = Membership.objects.get(user__email=ADA)
    browser_of(owner).post(
        f"/company/team/{member.id}/", {"remove": "1", "company_id": str(company.id)}
    )
    assert not Membership.objects.filter(user__email=ADA).exists()

    for active in (False, True):
        scim.patch(f"Users/{ada['id']}", {"op": "replace", "value": {"active": active}})

    assert not Membership.objects.filter(user__email=ADA).exists()


def test_a_deactivated_person_does_not_come_back_by_signing_in(
    row: IdentityProvider, owner: User, scim: Scim
) -> None:
    providers.set_group_role(row, group="hr", role=Role.VIEWER, by=owner.id)
    scim.add(active=False)

    with pytest.raises(SignOnRefused, match="INACTIVE"):
        sign_on.admit(row, Claims("s", ADA, True, "Ada", frozenset({"hr"})))

    assert not Membership.objects.filter(user__email=ADA).exists()


def _race(*calls: Any) -> list[Any]:
    """Return the results of calls that begin at once, each on a connection of its own."""
    found: list[Any] = [None] * len(calls)
    begin = threading.Barrier(len(calls))

    def run(place: int) -> None:
        begin.wait()
        try:
            found[place] = calls[place]()
        except SignOnRefused as refused:
            found[place] = refused.why
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    return found


def test_of_two_who_create_one_user_name_at_once_one_is_refused(scim: Scim) -> None:
    bodies = [person(externalId=f"x{n}") for n in range(4)]

    found = _race(*[lambda body=body: scim.ask("POST", "Users", body) for body in bodies])

    assert sorted(each.status_code for each in found) == [201, 409, 409, 409]
    assert {each.data["scimType"] for each in found if each.status_code == 409} == {"uniqueness"}
    assert ProvisionedUser.objects.count() == 1


@pytest.mark.parametrize("is_locked", [True, False])
def test_who_is_deactivated_while_signing_in_is_no_member_afterwards(
    row: IdentityProvider,
    owner: User,
    scim: Scim,
    monkeypatch: pytest.MonkeyPatch,
    is_locked: bool,
) -> None:
    """The control without the lock leaves a member who was deactivated."""
    providers.set_group_role(row, group="hr", role=Role.VIEWER, by=owner.id)
    ada = scim.add()
    checked, ended = threading.Event(), threading.Event()
    usual, give = sign_on._check_provisioned, sign_on.give_roles

    def check(*given: Any) -> None:
        if is_locked:
            usual(*given)
        checked.set()

    def give_late(*given: Any, **named: Any) -> bool:
        if given[2] is not None:  # signing in
            ended.wait(1 if is_locked else 10)
        return give(*given, **named)

    def deactivate() -> Any:
        checked.wait(10)
        answer = scim.patch(f"Users/{ada['id']}", {"op": "replace", "value": {"active": False}})
        ended.set()
        return answer

    monkeypatch.setattr(sign_on, "_check_provisioned", check)
    monkeypatch.setattr(sign_on, "give_roles", give_late)
    claims = Claims("s", ADA, True, "Ada", frozenset({"hr"}))
    _, answer = _race(lambda: sign_on.admit(row, claims), deactivate)

    assert answer.status_code == 200
    assert not ProvisionedUser.objects.get().is_active
    assert Membership.objects.filter(user__email=ADA).exists() is not is_locked


def test_large_bodies_and_other_content_types_are_refused(scim: Scim) -> None:
    large = scim.ask("POST", "Users", person(displayName="a" * 1_100_000))
    form = Client().post(
        "/scim/v2/Users", {"userName": ADA}, headers={"Authorization": f"Bearer {scim.secret}"}
    )
    broken = Client().generic(
        "POST",
        "/scim/v2/Users",
        b"[" * 100_000,
        content_type="application/json",
        headers={"Authorization": f"Bearer {scim.secret}"},
    )
    many = scim.ask(
        "POST",
        "Groups",
        {
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
            "displayName": "g",
            "members": [{"value": str(n)} for n in range(1_001)],
        },
    )

    assert [each.status_code for each in (large, form, broken, many)] == [413, 415, 400, 400]
    assert form["Content-Type"] == "application/scim+json"
    assert ProvisionedUser.objects.count() == 0


def test_the_server_refuses_bodies_of_ten_megabytes_and_failures_are_no_pages() -> None:
    length = [(b"content-length", b"10000000")]
    body = Body(
        {"path": "/scim/v2/Users", "headers": length}, BodyRoom(), Caller("c", is_known=True)
    )

    assert body.is_left_unread
    assert expects_problem(RequestFactory().post("/scim/v2/Users"))


def test_wrong_methods_and_addresses_have_errors_of_scim(scim: Scim) -> None:
    method = scim.ask("DELETE", "Users")
    nothing = scim.ask("GET", "Nothing")
    stranger = Client().get("/scim/v2/Users")

    assert (method.status_code, method["Allow"]) == (405, "GET, POST")
    assert (nothing.status_code, nothing.data["status"]) == (404, "404")
    assert (stranger.status_code, stranger.json()["status"]) == (401, "401")


def test_requests_beyond_the_rate_are_refused(scim: Scim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.api.scim.RATE", Rate(2, 60))

    statuses = [scim.ask("GET", "Users").status_code for _ in range(3)]

    assert statuses == [200, 200, 429]
