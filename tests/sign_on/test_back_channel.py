"""A provider that signs a person out: their sessions end, and only a true token does it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.models import IdentityProvider
from tests.sign_on.conftest import DOMAIN, set_up, sign_on
from tests.sign_on.provider import LOGOUT_EVENT, Provider, start
from tests.support import factories
from tests.support.accounts import is_signed_in, member_of

pytestmark = pytest.mark.django_db(transaction=True)
ADA = f"ada@{DOMAIN}"


@pytest.fixture
def browser(company: Company, row: IdentityProvider, idp: Provider) -> Client:
    """Return a browser in which the member has signed in at the provider."""
    member_of(company, Role.RECRUITER, email=ADA)
    client = Client()
    assert sign_on(client, row, idp).status_code == 302
    assert is_signed_in(client)
    return client


def tell(row: IdentityProvider, token: str) -> Any:
    """Send a logout token as a provider does: another client, without a cookie."""
    client = Client(enforce_csrf_checks=True)
    return client.post(f"/account/sign-on/{row.id}/logout/", {"logout_token": token})


def test_signing_out_at_the_provider_ends_the_sessions_here(
    row: IdentityProvider, idp: Provider, browser: Client
) -> None:
    answer = tell(row, idp.logout_token())

    assert (answer.status_code, answer.content) == (200, b"")
    assert "no-store" in answer["Cache-Control"]
    assert not is_signed_in(browser)
    assert tell(row, idp.logout_token(sub="nobody here")).status_code == 200


FORGED: dict[str, dict[str, Any]] = {
    "other issuer": {"iss": "https://evil.example"},
    "other audience": {"aud": "another-client"},
    "no subject": {"sub": None, "sid": "session-1"},
    "no event": {"events": None},
    "another event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "event without an object": {"events": {LOGOUT_EVENT: True}},
    "with a nonce, so an ID token": {"nonce": "n"},
    "no identifier": {"jti": None},
    "no time": {"iat": None},
    "of the future": {"iat": int(time.time()) + 3_600},
    "kept for an hour": {"iat": int(time.time()) - 3_600},
    "expired": {"exp": int(time.time()) - 600},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_or_old_token_ends_nothing(
    row: IdentityProvider, idp: Provider, browser: Client, name: str
) -> None:
    answer = tell(row, idp.logout_token(**FORGED[name]))

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert is_signed_in(browser)


@pytest.mark.parametrize("algorithm", ["HS256", "of another key"])
def test_a_token_that_the_provider_did_not_sign_ends_nothing(
    row: IdentityProvider, idp: Provider, browser: Client, algorithm: str
) -> None:
    idp.foreign_key = algorithm == "of another key"
    idp.algorithm = "RS256" if idp.foreign_key else algorithm

    assert tell(row, idp.logout_token()).status_code == 400
    assert tell(row, "").status_code == 400
    assert tell(row, "a.b.c").status_code == 400
    assert is_signed_in(browser)


def test_another_companys_provider_signs_nobody_of_this_one_out(
    row: IdentityProvider, idp: Provider, browser: Client
) -> None:
    other = Provider()
    server = start(other)
    theirs = set_up(factories.company(), other, "other.example")

    assert tell(theirs, other.logout_token()).status_code == 200, "nobody whom they know"
    assert tell(row, other.logout_token()).status_code == 400
    assert is_signed_in(browser)
    server.shutdown()
    server.server_close()
