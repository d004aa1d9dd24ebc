"""Strangers who know a staff address can neither keep guessing nor lock out its owner."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client

from jobs.accounts import is_staff_address
from jobs.companies import create_company
from jobs.errors import AlreadyMember
from jobs.models import Company, Membership, Role, User
from jobs.team import add_member
from tests.pages.staff.test_sign_in import ask_for_code, code_to, try_code
from tests.support.accounts import PASSWORD, browser_of, is_signed_in, member_of, sign_in

STRANGERS = "198.51.100.7"
LOCKED = "Too many attempts"


def stranger(address: str = STRANGERS) -> Client:
    return Client(REMOTE_ADDR=address)


def says(answer: object) -> str:
    return answer.content.decode()  # type: ignore[attr-defined]


def test_wrong_passwords_lock_out_who_tries_them_and_not_the_owner(ada: User) -> None:
    tries = [sign_in(ada.email, f"wrong {n}", client=stranger()) for n in range(6)]

    assert [LOCKED in says(answer) for answer in tries] == [False] * 5 + [True]
    assert LOCKED in says(sign_in(ada.email, client=stranger())), "not even the right one"
    assert sign_in(ada.email, client=Client(REMOTE_ADDR="192.0.2.1")).url == "/company/"


def test_one_network_is_one_client_and_other_spellings_are_no_other_accounts(ada: User) -> None:
    spellings = ["ADA@example.org", "ada@EXAMPLE.org", "aDa@Example.Org", " ada@example.org "]
    for number, spelling in enumerate([*spellings, "Ada@Example.Org"]):
        sign_in(spelling, "wrong", client=stranger(f"2001:db8::{number + 1}"))

    assert LOCKED in says(sign_in(ada.email, client=stranger("2001:db8::9")))
    assert sign_in(ada.email, client=stranger("2001:db8:0:1::9")).url == "/company/"


def test_one_client_cannot_go_through_many_accounts(company: Company) -> None:
    answers = [sign_in(f"p{n}@example.org", "wrong", client=stranger()) for n in range(11)]

    assert [LOCKED in says(answer) for answer in answers] == [False] * 10 + [True]


@pytest.mark.parametrize("address", ["/account/login/code/", "/account/password/reset/"])
def test_strangers_who_use_up_an_addresss_emails_leave_its_owner_hers(
    ada: User, address: str
) -> None:
    for number in range(9):
        stranger(f"198.51.100.{number % 2}").post(address, {"email": ada.email})
    sent = len(mail.outbox)

    answers = [Client().post(address, {"email": ada.email}).status_code for _ in range(3)]

    assert sent == 3 + 2 * 2, "three for all, and two for each network"
    assert answers == [302, 302, 422]


def test_the_owner_signs_in_by_a_code_while_strangers_ask_for_codes(ada: User) -> None:
    for _ in range(9):
        stranger().post("/account/login/code/", {"email": ada.email})
    hers = Client()

    ask_for_code(hers, ada.email)

    assert try_code(hers, code_to(ada.email)) == 302
    assert is_signed_in(hers)


@pytest.fixture
def jana(company: Company) -> User:
    """Return a member whose address has letters beyond ASCII."""
    membership = add_member(company_id=company.id, email="Jana@BÜCHER.example", role=Role.OWNER)
    membership.user.set_password(PASSWORD)
    membership.user.save()
    EmailAddress.objects.update_or_create(
        user=membership.user,
        email=membership.user.email,
        defaults={"verified": True, "primary": True},
    )
    return membership.user


@pytest.mark.parametrize(
    "spelling", ["jana@bücher.example", "JANA@Bücher.EXAMPLE", "jana@xn--bcher-kva.example"]
)
def test_a_mailbox_is_one_account_however_it_is_spelt(
    company: Company, jana: User, spelling: str
) -> None:
    assert jana.email == "jana@xn--bcher-kva.example"
    assert sign_in(spelling).url == "/company/"
    assert is_staff_address(spelling)
    with pytest.raises(AlreadyMember):
        add_member(company_id=company.id, email=spelling, role=Role.VIEWER)
    page = browser_of(jana).post("/company/team/", {"email": spelling, "role": "VIEWER"})
    assert "already in the team" in says(page)
    create_company(name="Other", owner_email=spelling)
    assert User.objects.create_superuser("Ops@BÜCHER.example").email.endswith("bcher-kva.example")
    client = Client()
    ask_for_code(client, spelling)
    assert try_code(client, code_to(jana.email)) == 302
    Client().post("/account/password/reset/", {"email": spelling})
    assert "/account/password/reset/key/" in str(mail.outbox[-1].body)
    assert set(Membership.objects.values_list("user_id", flat=True)) == {jana.id}


def test_a_new_address_is_kept_in_its_one_spelling(ada: User) -> None:
    client = Client()
    sign_in(ada.email, client=client)
    client.post("/account/reauthenticate/", {"password": PASSWORD})

    client.post("/account/email/", {"email": "Ada@MÜNCHEN.example", "action_add": ""})

    link = re.search(r"http://[^/]+(/account/confirm-email/\S+)", str(mail.outbox[-1].body))
    assert link
    client.post(link[1])
    assert User.objects.get().email == "ada@xn--mnchen-3ya.example"


@pytest.mark.parametrize("address", ["a\u200bda@example.org", "ada@exam\u200bple.org"])
def test_nobody_is_added_under_an_address_with_letters_that_cannot_be_seen(
    company: Company, ada: User, address: str
) -> None:
    with pytest.raises(ValidationError):
        add_member(company_id=company.id, email=address, role=Role.VIEWER)
    page = browser_of(ada).post("/company/team/", {"email": address, "role": "VIEWER"})

    assert page.status_code == 422
    assert User.objects.count() == 1


def test_accounts_from_before_are_found_by_the_new_spelling(company: Company) -> None:
    old = member_of(company, email="jana@bücher.example", password=PASSWORD)
    twin = member_of(company, email="ada@münchen.example")
    member_of(company, email="ada@xn--mnchen-3ya.example")

    import_module("jobs.migrations.0008_spelling_of_addresses").write_in_one_spelling(apps, None)

    assert sign_in("Jana@bücher.example").url == "/company/"
    old.refresh_from_db()
    twin.refresh_from_db()
    assert old.email == "jana@xn--bcher-kva.example"
    assert twin.email == "ada@münchen.example", "another account has the other spelling"
