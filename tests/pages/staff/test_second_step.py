"""Once an account has an authenticator app, nothing else opens it alone."""

from __future__ import annotations

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from jobs.models import User
from tests.pages.staff.test_sign_in import ask_for_code, code_to, try_code
from tests.support.accounts import app_code, browser_of, is_signed_in, sign_in
from tests.support.pages import text_of

ACTIVATE = "/account/2fa/totp/activate/"
SECOND_STEP = "/account/2fa/authenticate/"


@pytest.fixture
def codes(ada: User) -> list[str]:
    """The recovery codes of Ada, who has an app."""
    TOTP.activate(ada, generate_totp_secret())
    return RecoveryCodes.activate(ada).get_unused_codes()


def test_a_password_alone_is_not_enough(ada: User, codes: list[str]) -> None:
    client = Client()

    answer = sign_in(ada.email, client=client)

    assert answer.url == SECOND_STEP
    assert not is_signed_in(client)


def test_a_code_by_mail_alone_is_not_enough(ada: User, codes: list[str]) -> None:
    client = Client()
    ask_for_code(client, ada.email)

    try_code(client, code_to(ada.email))

    assert not is_signed_in(client)


def test_the_back_office_asks_for_the_second_step_too(ada: User, codes: list[str]) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    sign_in(ada.email, client=client)

    asked = client.get("/admin/", follow=True)

    assert asked.request["PATH_INFO"] == SECOND_STEP


def test_a_recovery_code_opens_the_account_once(ada: User, codes: list[str]) -> None:
    first, second = Client(), Client()
    for client in (first, second):
        sign_in(ada.email, client=client)
        client.post(SECOND_STEP, {"code": codes[0]})

    assert is_signed_in(first)
    assert not is_signed_in(second)


def in_other_digits(code: str) -> str:
    return "\u2013".join(chr(0x0660 + int(digit)) for digit in code) + "\u00a0"


def test_codes_are_typed_in_digits_of_any_script_and_still_work_once(ada: User) -> None:
    secret = TOTP.activate(ada, generate_totp_secret()).instance.data["secret"]
    code, recovery = app_code(secret), RecoveryCodes.activate(ada).get_unused_codes()[0]
    opened = []
    for typed in (code, in_other_digits(code), in_other_digits(recovery), recovery):
        client = Client()
        sign_in(ada.email, client=client)
        client.post(SECOND_STEP, {"code": typed})
        opened.append(is_signed_in(client))

    assert opened == [True, False, True, False]


def test_an_app_is_set_up_in_digits_of_any_script(ada: User) -> None:
    User.objects.filter(id=ada.id).update(password="!")
    client = browser_of(User.objects.get(id=ada.id))
    secret = client.get(ACTIVATE).context["form"].secret

    page = client.post(ACTIVATE, {"code": in_other_digits(app_code(secret))})

    assert page.status_code == 302


def test_the_recovery_codes_follow_a_new_app_at_once(ada: User) -> None:
    User.objects.filter(id=ada.id).update(password="!")  # an account without a password
    client = browser_of(User.objects.get(id=ada.id))  # that has proved nothing lately
    secret = client.get(ACTIVATE).context["form"].secret
    code = app_code(secret)

    page = client.post(ACTIVATE, {"code": code}, follow=True)

    assert page.redirect_chain == [("/account/2fa/recovery-codes/", 302)]
    assert "Recovery codes" in text_of(page)


def test_a_passkey_is_offered_only_to_those_who_have_one(ada: User, codes: list[str]) -> None:
    client = Client()
    sign_in(ada.email, client=client)

    assert "Use a passkey" not in text_of(client.get(SECOND_STEP))


def test_before_passkeys_are_managed_the_app_is_offered_as_such(
    ada: User, codes: list[str]
) -> None:
    page = text_of(browser_of(ada).get("/account/reauthenticate/?next=/account/2fa/webauthn/"))

    assert "Use your authenticator app" in page
    assert "Use a passkey" not in page


def test_a_wrong_code_is_told_with_422(ada: User, codes: list[str]) -> None:
    client = Client()
    sign_in(ada.email, client=client)

    assert client.post(SECOND_STEP, {"code": "000000"}).status_code == 422
