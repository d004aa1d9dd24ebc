"""Removing and replacing an account's credentials, and the effect on open sessions."""

from __future__ import annotations

import re
from functools import partial

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.test import Client

from jobs.models import Company, Role, User
from tests.support.accounts import PASSWORD, browser_of, is_signed_in, member_of, sign_in
from tests.support.together import together

NEW = "a better horse"


@pytest.fixture
def codes(ada: User) -> list[str]:
    """The recovery codes of Ada, who has an app."""
    TOTP.activate(ada, generate_totp_secret())
    return RecoveryCodes.activate(ada).get_unused_codes()


def opened(ada: User, codes: list[str]) -> Client:
    """A browser in which Ada has taken both steps, and has just given her password once more."""
    client = Client()
    sign_in(ada.email, client=client)
    client.post("/account/2fa/authenticate/", {"code": codes[0]})
    assert is_signed_in(client)
    assert client.post("/account/reauthenticate/", {"password": PASSWORD}).status_code == 302
    return client


def told(ada: User) -> list[str]:
    return [str(message.subject) for message in mail.outbox if message.to == [ada.email]]


def test_the_app_is_turned_off_by_its_owner_who_is_told(ada: User, codes: list[str]) -> None:
    client = opened(ada, codes)

    looked = client.get("/account/2fa/totp/deactivate/")
    assert Authenticator.objects.filter(type="totp").exists()
    answer = client.post("/account/2fa/totp/deactivate/")

    assert (looked.status_code, answer.status_code) == (200, 302)
    assert not Authenticator.objects.filter(user=ada).exists()
    assert told(ada)
    assert sign_in(ada.email).url == "/company/"


def test_who_has_not_just_signed_in_has_to_prove_it_first(ada: User, codes: list[str]) -> None:
    client = browser_of(ada)

    for address in ("totp/deactivate/", "recovery-codes/generate/", "webauthn/add/"):
        answer = client.post(f"/account/2fa/{address}")
        assert answer.status_code == 302
        assert "/reauthenticate/" in answer.url

    assert Authenticator.objects.filter(user=ada).count() == 2


def test_new_recovery_codes_void_the_old_ones(ada: User, codes: list[str]) -> None:
    client = opened(ada, codes)

    assert client.post("/account/2fa/recovery-codes/generate/").status_code == 302
    page = client.get("/account/2fa/recovery-codes/")

    kept = Authenticator.objects.get(user=ada, type="recovery_codes").wrap().get_unused_codes()
    assert set(kept).isdisjoint(codes)
    assert kept[0] in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    stranger = Client()
    sign_in(ada.email, client=stranger)
    stranger.post("/account/2fa/authenticate/", {"code": codes[1]})
    assert not is_signed_in(stranger)


def test_a_passkey_is_removed_by_its_owner_and_by_nobody_else(
    ada: User, company: Company, codes: list[str]
) -> None:
    bob = member_of(company, Role.OWNER)
    mine, theirs = (
        Authenticator.objects.create(user=user, type="webauthn", data={"name": "Laptop"})
        for user in (ada, bob)
    )
    client = opened(ada, codes)

    for key in (mine, theirs):
        client.post(f"/account/2fa/webauthn/keys/{key.id}/remove/")

    assert list(Authenticator.objects.filter(type="webauthn")) == [theirs]
    assert told(ada)


def change_password(client: Client, old: str = PASSWORD) -> int:
    form = {"oldpassword": old, "password1": NEW, "password2": NEW}
    return client.post("/account/password/change/", form).status_code


def test_another_password_ends_all_other_sessions(ada: User) -> None:
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        sign_in(ada.email, client=client)

    assert change_password(here, "wrong") == 422
    assert change_password(here) == 302

    assert is_signed_in(here)
    assert not is_signed_in(elsewhere)
    assert sign_in(ada.email).status_code == 422
    assert sign_in(ada.email, NEW).status_code == 302
    assert told(ada)


def test_a_password_that_was_reset_ends_all_sessions(ada: User) -> None:
    elsewhere, client = browser_of(ada), Client()
    client.post("/account/password/reset/", {"email": ada.email})
    link = re.search(r"http://[^/]+(/account/password/reset/key/\S+)", str(mail.outbox[-1].body))
    assert link
    form_at = client.get(link[1]).url

    client.post(form_at, {"password1": NEW, "password2": NEW})

    assert not is_signed_in(elsewhere)
    assert not is_signed_in(client)


def test_links_in_mails_lead_to_the_sites_own_address(ada: User, settings: object) -> None:
    settings.SITE_URL = "https://jobs.example.org"  # type: ignore[attr-defined]
    settings.ALLOWED_HOSTS = ["*"]  # type: ignore[attr-defined]
    client = Client(headers={"Host": "evil.example"})

    client.post("/account/password/reset/", {"email": ada.email})
    client.post("/account/password/reset/", {"email": "nobody@example.org"})

    texts = [str(message.body) for message in mail.outbox]
    assert len(texts) == 2
    assert all("https://jobs.example.org/" in text for text in texts)
    assert not any("evil.example" in text for text in texts)


def test_wrong_passwords_at_one_moment_are_not_more_than_the_rate(ada: User) -> None:
    answers = together([partial(sign_in, ada.email, "wrong")] * 12)

    tried = [
        each
        for each in answers
        if "The email address or password is wrong." in each.content.decode()
    ]
    assert len(tried) <= 5


def test_second_steps_at_one_moment_are_not_more_than_the_rate(ada: User, codes: list[str]) -> None:
    clients = [Client() for _ in range(4)]
    for client in clients:
        sign_in(ada.email, client=client)

    def guess(client: Client) -> str:
        answer = client.post("/account/2fa/authenticate/", {"code": "000000"})
        return str(answer.content.decode())

    answers = together([partial(guess, client) for client in clients * 3])

    assert len([text for text in answers if "not the right code" in text]) <= 5
