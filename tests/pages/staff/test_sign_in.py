"""Staff sign in by password or code, and never as anyone else."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from django.core import mail
from django.test import Client

from applicants.browser import KEY
from jobs.models import Company, Role, User
from tests.support import factories
from tests.support.accounts import PASSWORD, browser_of, is_signed_in, member_of, sign_in
from tests.support.environment import ROOT

CODE = re.compile(r"^[B-Z]{4}-[B-Z]{4}$", re.M)


def code_to(email: str) -> str:
    """The code in the last mail to an address: its first line."""
    text = str([message for message in mail.outbox if message.to == [email]][-1].body)
    found = CODE.match(text)
    assert found
    return found[0]


def ask_for_code(client: Client, email: str) -> None:
    assert client.post("/account/login/code/", {"email": email}).status_code == 302


def try_code(client: Client, code: str) -> int:
    return client.post("/account/login/code/confirm/", {"code": code}).status_code


def test_a_member_signs_in_by_password_and_comes_to_the_jobs(ada: User) -> None:
    answer = sign_in(ada.email)

    assert answer.status_code == 302
    assert answer.url == "/company/"


def test_a_wrong_password_is_told_with_422_and_tells_nothing_of_the_account(ada: User) -> None:
    known, unknown = sign_in(ada.email, "wrong"), sign_in("nobody@example.org", "wrong")

    words = "The email address or password is wrong."
    assert (known.status_code, unknown.status_code) == (422, 422)
    assert words in known.content.decode()
    assert words in unknown.content.decode()


def test_no_field_repeats_its_label_as_a_placeholder(ada: User) -> None:
    visitor, member = Client(), browser_of(ada)
    ask_for_code(visitor, ada.email)

    for browser, path in (
        (Client(), "/account/login/"),
        (Client(), "/account/login/code/"),
        (Client(), "/account/password/reset/"),
        (visitor, "/account/login/code/confirm/"),
        (member, "/account/password/change/"),
        (member, "/account/email/"),
    ):
        page = browser.get(path, follow=True).content.decode()
        assert "<label" in page, path
        assert "placeholder" not in page, path


def test_a_member_without_a_password_signs_in_by_the_code_of_a_mail(company: Company) -> None:
    user, client = member_of(company, Role.VIEWER, password=None), Client()
    ask_for_code(client, user.email)

    status = try_code(client, code_to(user.email).lower())

    assert status == 302
    assert is_signed_in(client)


def test_a_newcomer_is_welcomed_once_and_not_by_their_address(company: Company) -> None:
    user = member_of(company, Role.VIEWER, password=None)

    def signs_in() -> str:
        client = Client()
        ask_for_code(client, user.email)
        try_code(client, code_to(user.email))
        return client.get("/company/").content.decode()

    assert f"Your address is confirmed. Welcome to {company.name}." in signs_in()
    assert "Welcome to" not in signs_in()


def test_a_code_is_typed_with_any_dash_and_blank(ada: User) -> None:
    client = Client()
    ask_for_code(client, ada.email)

    try_code(client, code_to(ada.email).replace("-", "\u00a0\u2013\u200b"))

    assert is_signed_in(client)


def test_a_code_is_guessed_three_times_at_most_even_where_the_session_forgets(ada: User) -> None:
    client = Client()
    ask_for_code(client, ada.email)
    code, before = code_to(ada.email), dict(client.session.items())
    for _ in range(3):
        try_code(client, "BBBB-BBBB")
        session = client.session  # as with tries that come at once: each finds the count at nought
        session.update(before)
        session.save()

    try_code(client, code)

    assert not is_signed_in(client)


def test_who_has_no_account_gets_the_same_answer_and_another_mail(ada: User) -> None:
    known, unknown = Client(), Client()
    ask_for_code(known, ada.email)
    ask_for_code(unknown, "nobody@example.org")

    pages = [each.get("/account/login/code/confirm/") for each in (known, unknown)]

    assert [page.status_code for page in pages] == [200, 200]
    assert "has no staff account" in str(mail.outbox[-1].body)
    assert not CODE.search(str(mail.outbox[-1].body))


def test_mails_with_codes_to_one_address_are_limited(ada: User) -> None:
    answers = [
        Client().post("/account/login/code/", {"email": ada.email}).status_code for _ in range(7)
    ]

    assert answers == [302] * 5 + [422] * 2
    assert len(mail.outbox) == 5


def test_wrong_tries_count_in_every_process(ada: User, environment: dict[str, str]) -> None:
    for _ in range(5):
        sign_in(ada.email, "wrong")

    elsewhere = (
        "import django; django.setup();"
        "from django.test import Client;"
        f"form = {{'login': '{ada.email}', 'password': '{PASSWORD}'}};"
        "answer = Client(SERVER_NAME='localhost').post('/account/login/', form);"
        "print(answer.status_code, 'Too many attempts' in answer.content.decode())"
    )
    run = subprocess.run(
        [sys.executable, "-c", elsewhere],
        cwd=ROOT,
        env=environment | {"SECURE_COOKIES": "off"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.split() == ["422", "True"]


@pytest.mark.parametrize("address", ["/account/signup/", "/account/signup/passkey/"])
def test_nobody_signs_up(address: str) -> None:
    form = {"email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}

    Client().post(address, form)

    assert not User.objects.exists()


def test_a_code_for_an_unknown_address_makes_no_account() -> None:
    client = Client()
    ask_for_code(client, "new@example.org")

    try_code(client, "")
    try_code(client, "BBBB-BBBB")

    assert not is_signed_in(client)
    assert not User.objects.exists()


def test_signing_in_ends_the_applicants_session_of_the_same_browser(ada: User) -> None:
    client = Client()
    session = client.session
    session[KEY] = str(factories.applicant().id)
    session.save()
    before = client.session.session_key

    sign_in(ada.email, client=client)

    assert KEY not in client.session
    assert client.session.session_key != before
    assert is_signed_in(client)


def test_a_closed_account_opens_nothing(ada: User) -> None:
    client = browser_of(ada)
    User.objects.update(is_active=False)

    sign_in(ada.email)

    assert not is_signed_in(client)


def test_after_signing_in_one_is_never_led_to_another_site(ada: User) -> None:
    form = {"login": ada.email, "password": PASSWORD, "next": "https://evil.example/"}

    assert Client().post("/account/login/", form).url == "/company/"


def test_a_forgotten_password_is_replaced_by_the_link_of_a_mail(ada: User) -> None:
    client = Client()
    client.post("/account/password/reset/", {"email": ada.email})
    link = re.search(r"http://[^/]+(/account/password/reset/key/\S+)", str(mail.outbox[-1].body))
    assert link
    form = client.get(link[1], follow=True).request["PATH_INFO"]

    client.post(form, {"password1": "a better horse", "password2": "a better horse"})

    assert sign_in(ada.email).status_code == 422
    assert sign_in(ada.email, "a better horse").status_code == 302


def test_a_new_member_who_chooses_a_password_by_a_link_has_proved_the_address(
    company: Company,
) -> None:
    user, client = member_of(company, Role.VIEWER, password=None), Client()
    Client().post("/account/password/reset/", {"email": user.email})
    link = re.search(r"http://[^/]+(/account/password/reset/key/\S+)", str(mail.outbox[-1].body))
    assert link
    form = client.get(link[1], follow=True).request["PATH_INFO"]

    client.post(form, {"password1": "a better horse", "password2": "a better horse"})

    assert sign_in(user.email, "a better horse").url == "/company/"


def test_a_new_address_counts_only_after_its_link_was_confirmed(ada: User) -> None:
    client = Client()
    sign_in(ada.email, client=client)
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    client.post("/account/email/", {"email": "new@example.org", "action_add": ""})
    link = re.search(r"http://[^/]+(/account/confirm-email/\S+)", str(mail.outbox[-1].body))
    assert link
    client.get(link[1])
    unchanged = User.objects.get().email

    client.post(link[1])

    assert unchanged == "ada@example.org"
    assert User.objects.get().email == "new@example.org"
