"""Thieves of a code, a session, a password or a security key, at the second step."""

from __future__ import annotations

import json
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.core.internal import ratelimit
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    generate_totp_secret,
)
from allauth.mfa.webauthn.internal.auth import STATE_SESSION_KEY
from django.core import mail
from django.core.cache import cache
from django.test import Client
from fido2.utils import websafe_encode

from jobs.models import Company, User
from tests.pages.staff.test_second_step import SECOND_STEP
from tests.support.accounts import PASSWORD, app_code, browser_of, is_signed_in, member_of, sign_in
from tests.support.passkeys import SecurityKey

PASSKEY = "/account/2fa/webauthn/login/"
AJAX = {"x-requested-with": "XMLHttpRequest"}


def challenge_of(client: Client) -> str:
    """Return the challenge that the session waits for."""
    return str(client.session[STATE_SESSION_KEY]["challenge"])


def ask_for_challenge(client: Client) -> str:
    """Return the challenge of the sign-in page's own button."""
    client.get(PASSKEY, headers=AJAX)
    return challenge_of(client)


def try_passkey(client: Client, credential: str) -> bool:
    """Send a passkey's answer to the sign-in page; tell whether it opened the account."""
    assert client.post(PASSKEY, {"credential": credential}).status_code == 302
    return is_signed_in(client)


@pytest.fixture
def secret(ada: User) -> str:
    """Return the secret of Ada's authenticator app."""
    secret = generate_totp_secret()
    TOTP.activate(ada, secret)
    return secret


def enter(ada: User, code: str) -> bool:
    """Sign in by password and a code; tell whether that opened the account."""
    client = Client()
    sign_in(ada.email, client=client)
    client.post(SECOND_STEP, {"code": code})
    return is_signed_in(client)


@pytest.mark.parametrize("spelling", ["{0}{1}", " {0}{1} ", "{0}-{1}"])
def test_a_code_that_was_seen_works_once_for_as_long_as_it_is_valid(
    ada: User, secret: str, spelling: str
) -> None:
    code = app_code(secret, periods=1)  # of a phone half a minute fast: valid for a minute more
    again = spelling.format(code[:3], code[3:])

    opened = enter(ada, code)
    cache.clear()  # allauth forgets it after 30 seconds

    assert opened
    assert not enter(ada, again)


def test_a_used_code_is_also_none_for_proving_oneself_again(ada: User, secret: str) -> None:
    code = app_code(secret)
    assert enter(ada, code)
    cache.clear()
    thief = browser_of(ada)

    answer = thief.post("/account/2fa/reauthenticate/", {"code": code})

    assert answer.status_code == 422
    assert thief.get("/account/2fa/totp/deactivate/").url.startswith("/account/reauthenticate/")


@pytest.mark.slow
def test_a_thief_of_the_password_has_thirty_tries_a_day_at_the_second_step(
    ada: User, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(ratelimit, "time", clock)
    client, began, tried = Client(), time.time(), 0
    sign_in(ada.email, client=client)
    for minute in range(0, 24 * 60, 18):
        clock.time = lambda minute=minute: began + minute * 60
        answer = client.post(SECOND_STEP, {"code": "12345678"})
        tried += "Too many attempts" not in answer.content.decode()

    assert tried == 30


def test_a_found_key_does_not_sign_in_without_its_pin(company: Company, ada: User) -> None:
    """The thief has an account, and a challenge from a second step there that has expired."""
    thief = member_of(company, email="thief@example.org", password=PASSWORD)
    SecurityKey(thief, id=b"\x08" * 16).add()
    found = SecurityKey(ada).add()
    client = Client()
    sign_in(thief.email, client=client)
    client.get(SECOND_STEP)  # makes a challenge for a second step
    session = client.session
    session["account_login"]["initiated_at"] -= 3_600
    session.save()

    assert not try_passkey(client, found.sign(challenge_of(client), verified=False))
    assert not try_passkey(client, found.sign(ask_for_challenge(client), verified=False))


@pytest.mark.parametrize(
    ("origin", "opens"),
    [
        ("https://testserver", True),
        ("https://blog.testserver", False),
        ("https://testserver:8443", False),
        ("https://testserver.evil.example", False),
        ("http://testserver", False),
        ("", False),
    ],
)
def test_only_a_page_of_this_site_itself_is_given_a_passkeys_answer(
    ada: User, origin: str, opens: bool
) -> None:
    key, client = SecurityKey(ada).add(), Client()

    credential = key.sign(ask_for_challenge(client), origin=origin)

    assert try_passkey(client, credential) is opens


def test_an_answer_opens_the_account_once_and_only_the_browser_that_asked(ada: User) -> None:
    key, hers, thief = SecurityKey(ada).add(), Client(), Client()
    credential = key.sign(ask_for_challenge(hers))
    ask_for_challenge(thief)

    assert not try_passkey(thief, credential)
    assert try_passkey(hers, credential)
    hers.post("/account/logout/")
    assert not try_passkey(hers, credential)


def answers_of_no_passkey() -> list[str]:
    """Return what is no answer of a passkey."""
    deep = websafe_encode(b"[" * 100_000)
    part = websafe_encode(json.dumps({"type": 1, "challenge": [], "origin": {}}).encode())
    parts: list[Any] = [
        *({}, [], "", {"clientDataJSON": part}),
        {"clientDataJSON": deep, "authenticatorData": "AA", "signature": "AA"},
        {"clientDataJSON": part, "authenticatorData": "A" * 60, "signature": "AA"},
        {"clientDataJSON": part, "authenticatorData": "A" * 60, "signature": "AA", "userHandle": 1},
    ]
    whole: list[Any] = [*([], 1, {}, None, "x"), {"id": 1}, {"rawId": {}}]
    whole += [{"id": "AA", "rawId": "AA", "type": "public-key", "response": part} for part in parts]
    return [*map(json.dumps, whole), "[" * 100_000, "\0"]


def test_what_is_no_answer_of_a_passkey_is_refused(ada: User) -> None:
    key, client = SecurityKey(ada).add(), Client()
    good = json.loads(key.sign(ask_for_challenge(client)))
    for wrong in ("", "AA", "_w", "\0", 1, None, {}):
        for name in good["response"]:
            changed = good | {"response": good["response"] | {name: wrong}}
            assert not try_passkey(client, json.dumps(changed)), (name, wrong)
            cache.clear()
    for text in answers_of_no_passkey():
        assert not try_passkey(client, text), text[:80]
        cache.clear()


@pytest.mark.parametrize(
    "path", ["/account/2fa/webauthn/add/", "/account/2fa/webauthn/reauthenticate/"]
)
def test_what_is_no_passkey_is_neither_added_nor_a_proof(ada: User, path: str) -> None:
    SecurityKey(ada).add()
    client = browser_of(ada)
    if "add" in path:
        client.post("/account/reauthenticate/", {"password": PASSWORD})
    client.get(path)

    for text in answers_of_no_passkey():
        assert client.post(path, {"name": "x", "credential": text}).status_code < 500, text[:80]
        cache.clear()

    assert Authenticator.objects.filter(user=ada).count() == 1


def test_a_new_password_by_the_emailed_link_does_not_go_around_the_second_step(
    ada: User, secret: str
) -> None:
    thief = Client()  # of her mailbox
    thief.post("/account/password/reset/", {"email": ada.email})
    link = re.search(r"(/account/password/reset/key/\S+)", str(mail.outbox[-1].body))
    assert link
    form = thief.get(link[1], follow=True)
    path = form.request["PATH_INFO"]

    new = "quite another horse"
    thief.post(path, {"password1": new, "password2": new})

    assert not is_signed_in(thief)
    answer = sign_in(ada.email, new, client=thief)
    assert answer.url == SECOND_STEP
    assert not is_signed_in(thief)


@pytest.mark.parametrize(
    "path",
    [
        "/account/2fa/totp/activate/",
        "/account/2fa/totp/deactivate/",
        "/account/2fa/webauthn/add/",
        "/account/2fa/recovery-codes/",
        "/account/2fa/recovery-codes/generate/",
        "/account/2fa/recovery-codes/download/",
    ],
)
def test_a_thief_of_a_session_changes_no_second_step(ada: User, path: str) -> None:
    RecoveryCodes.activate(ada)
    if "activate" not in path.replace("deactivate", ""):
        TOTP.activate(ada, generate_totp_secret())
    before = list(Authenticator.objects.values_list("id", "data"))
    thief = browser_of(ada)

    asked, done = thief.get(path), thief.post(path, {"code": "123456"})

    assert asked.url.startswith("/account/reauthenticate/")
    assert done.status_code == 405 or done.url.startswith("/account/reauthenticate/")
    assert list(Authenticator.objects.values_list("id", "data")) == before


def test_signing_in_gives_the_session_a_new_id(ada: User) -> None:
    """Who has planted a cookie in the browser is not signed in with it."""
    client = Client()
    client.get("/account/login/")
    session = client.session
    session["planted"] = True
    session.save()
    planted = session.session_key
    client.cookies["sessionid"] = planted

    sign_in(ada.email, client=client)

    assert is_signed_in(client)
    assert client.session.session_key != planted
    thief = Client()
    thief.cookies["sessionid"] = planted
    assert not is_signed_in(thief)
