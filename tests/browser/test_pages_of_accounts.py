"""Pages of sign-in, of accounts, and of errors, looked at as test_every_page.py looks at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.urls import reverse
from playwright.sync_api import Page

from jobs.models import Role, User
from pipeline.api import problem_types
from pipeline.api.problem_type import ProblemType
from tests.browser.helpers import sign_in_staff, usable_by_everybody
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import PASSWORD, app_code, member_of

pytestmark = pytest.mark.slow
SECRET = generate_totp_secret()


def _nothing(_user: User) -> dict[str, Any]:
    return {}


def _reset(user: User) -> dict[str, Any]:
    return {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}


def _unproved(user: User) -> dict[str, Any]:
    address = EmailAddress.objects.create(user=user, email="other@example.org")
    return {"key": EmailConfirmationHMAC(address).key}


def _passkey(user: User) -> dict[str, Any]:
    return {"pk": Authenticator.objects.get(user=user, type="webauthn").pk}


Where = Callable[[User], dict[str, Any]]
ENTRANCE: dict[str, Where] = {
    **dict.fromkeys(("account_inactive", "account_email_verification_sent"), _nothing),
    **dict.fromkeys(("account_reset_password_done",), _nothing),
    "account_reset_password_from_key": _reset,
    "account_reset_password_from_key_done": _nothing,
    "account_confirm_email": _unproved,
}
IN_ACCOUNT: dict[str, Where] = {
    "account_change_password": _nothing,
    **dict.fromkeys(("mfa_reauthenticate", "mfa_deactivate_totp"), _nothing),
    **dict.fromkeys(("mfa_generate_recovery_codes", "mfa_view_recovery_codes"), _nothing),
    **dict.fromkeys(("mfa_edit_webauthn", "mfa_remove_webauthn"), _passkey),
}
AFTER_A_STEP = {"account_confirm_login_code", "account_reauthenticate", "mfa_authenticate"}


@pytest.fixture
def ada(site: Site) -> User:
    """An owner with a password, an authenticator app and recovery codes."""
    cache.clear()
    user = member_of(factories.company(name="Acme"), email="ada@example.org", password=PASSWORD)
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    return user


def test_the_entrance(page: Page, site: Site, ada: User) -> None:
    for name, where in ENTRANCE.items():
        page.goto(reverse(name, kwargs=where(ada)))
        usable_by_everybody(page, name)
    page.goto(reverse("account_reset_password_from_key", kwargs={"uidb36": "x", "key": "y-z"}))
    usable_by_everybody(page, "reset_bad_link")


def test_sign_in_with_a_second_step_and_the_account(
    page: Page, site: Site, ada: User, expected_problems: list[str]
) -> None:
    expected_problems.append("422")  # the wrong code
    page.goto("/account/login/code/")
    page.get_by_label("Email").fill(ada.email)
    page.get_by_role("button", name="Send code").click()
    page.wait_for_url("**/confirm/")
    usable_by_everybody(page, "account_confirm_login_code")
    page.get_by_label("Code").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    usable_by_everybody(page, "wrong_code")
    page.context.clear_cookies()
    page.goto("/account/login/")
    page.get_by_label("Email").fill(ada.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/2fa/authenticate/**")
    usable_by_everybody(page, "mfa_authenticate")
    page.get_by_label("Code").fill(app_code(SECRET))
    page.locator("#main form button").first.click()
    page.wait_for_url("**/company/")
    data = {"name": "Telephone", "credential": {}}
    Authenticator.objects.create(user=ada, type="webauthn", data=data)

    page.goto("/account/reauthenticate/")
    usable_by_everybody(page, "account_reauthenticate")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/company/")
    for name, where in IN_ACCOUNT.items():
        page.goto(reverse(name, kwargs=where(ada)))
        usable_by_everybody(page, name)


def test_pages_that_refuse(
    browser_page: OpenPage, site: Site, ada: User, expected_problems: list[str]
) -> None:
    expected_problems += ["403", "404"]
    page = browser_page()
    viewer = member_of(ada.memberships.get().company, Role.VIEWER)
    sign_in_staff(page.context, site.url, viewer)
    for path in ("/nothing-here/", "/company/jobs/new/"):
        page.goto(path)
        usable_by_everybody(page, f"refused{path.replace('/', '-')}")


@pytest.mark.parametrize("kind", ["429.html", "errors/slow.html", "errors/csrf.html"])
def test_pages_of_refused_requests(page: Page, site: Site, kind: str) -> None:
    request = RequestFactory().get("/company/")
    request.user, request.session = AnonymousUser(), SessionStore()
    _is_usable(page, render_to_string(kind, {}, request), kind)


@pytest.mark.parametrize(
    "kind", [problem_types.INTERNAL_ERROR, problem_types.BUSY, problem_types.TOO_SLOW]
)
def test_pages_of_errors(page: Page, site: Site, kind: ProblemType) -> None:
    _is_usable(
        page, render_to_string("errors/plain.html", {"kind": kind, "request_id": "7"}), kind.code
    )


def _is_usable(page: Page, body: str, name: str) -> None:
    page.route("**/an-error/", lambda route: route.fulfill(body=body, content_type="text/html"))

    page.goto("/an-error/")

    assert page.locator("h1").count() == 1
    usable_by_everybody(page, f"error-{name.replace('/', '-')}")
