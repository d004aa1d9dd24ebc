"""Attacks on single sign-on: each is refused, and signs nobody in. The control gets in."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Role, User
from pipeline.models import IdentityProvider, SignOnIdentity
from pipeline.sign_on.provider import ProviderFailed, discover
from tests.sign_on.conftest import DOMAIN, begin, come_back, set_up, sign_on
from tests.sign_on.provider import Provider, start
from tests.support import factories
from tests.support.accounts import is_signed_in, member_of

pytestmark = pytest.mark.django_db(transaction=True)
ADA = f"ada@{DOMAIN}"


@pytest.fixture(autouse=True)
def ada(company: Company) -> User:
    """Return the account that every attack is after."""
    return member_of(company, Role.OWNER, email=ADA)


FORGED_TOKENS: dict[str, dict[str, Any]] = {
    "other issuer": {"claims": {"iss": "https://evil.example"}},
    "other audience": {"claims": {"aud": "another-client"}},
    "several audiences, another party": {"claims": {"aud": ["next-in-line", "x"], "azp": "x"}},
    "expired": {"claims": {"exp": int(time.time()) - 600}},
    "no expiry": {"claims": {"exp": None}},
    "other nonce": {"claims": {"nonce": "of an earlier sign-in"}},
    "no nonce": {"claims": {"nonce": None}},
    "no subject": {"claims": {"sub": None}},
    "signed with another key": {"foreign_key": True},
    "signed with the client's secret": {"algorithm": "HS256"},
    "unsigned": {"algorithm": "none"},
    "userinfo about somebody else": {"userinfo": {"sub": "s-2", "email": ADA}},
}


@pytest.mark.parametrize("name", FORGED_TOKENS)
def test_forged_tokens(row: IdentityProvider, idp: Provider, name: str) -> None:
    changes = dict(FORGED_TOKENS[name])
    idp.claims |= changes.pop("claims", {})
    for field, value in changes.items():
        setattr(idp, field, value)
    if idp.algorithm == "none":
        idp.token = lambda: _unsigned(idp)  # type: ignore[method-assign]
    client = Client()

    answer = sign_on(client, row, idp)

    assert answer.status_code == 400, answer.content
    assert not is_signed_in(client)
    assert not SignOnIdentity.objects.exists()


def _unsigned(idp: Provider) -> str:
    def part(text: str) -> str:
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    now = int(time.time())
    said = {"iss": idp.issuer, "aud": "next-in-line", "iat": now, "exp": now + 300, "sub": "s-1"}
    said |= {"nonce": idp.nonce} | idp.claims
    header = {"alg": "none"}
    return f"{part(json.dumps(header))}.{part(json.dumps(said))}."


def test_the_control_of_all_attacks_gets_in(row: IdentityProvider, idp: Provider) -> None:
    client = Client()

    sign_on(client, row, idp)

    assert is_signed_in(client)


def test_a_state_works_once_and_in_its_own_browser(row: IdentityProvider, idp: Provider) -> None:
    client, thief = Client(), Client()
    state = begin(client, row, idp)["state"]

    stolen = come_back(thief, row, state)
    first = come_back(client, row, state)
    client.post("/account/logout/")
    again = come_back(client, row, state)

    assert (stolen.status_code, first.status_code, again.status_code) == (400, 302, 400)
    assert not is_signed_in(thief)
    assert not is_signed_in(client)
    assert come_back(Client(), row, "").status_code == 400


def test_answers_of_one_provider_do_not_count_as_anothers(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    """Mixed-up providers: state, code and address of the answer belong to one provider."""
    evil = Provider(claims={"email": ADA, "email_verified": True, "sub": "evil"})
    server = start(evil)
    try:
        other = set_up(factories.company(name="Evil"), evil, domain="evil.example")
        client = Client()
        state = begin(client, other, evil)["state"]
        evil.nonce = idp.nonce = evil.nonce

        crossed = come_back(client, row, state)
        state = begin(client, row, idp)["state"]
        named = come_back(client, row, state, iss=evil.issuer)
        vouched = sign_on(Client(), other, evil)
    finally:
        server.shutdown()

    assert crossed.status_code == named.status_code == 400
    assert vouched.status_code == 403
    assert b"at a domain that your company has not proved here" in vouched.content
    assert not is_signed_in(client)


REFUSED_PEOPLE: dict[str, dict[str, Any]] = {
    "unverified address": {"email_verified": False},
    "verified by silence": {"email_verified": None},
    "no address": {"email": None},
    "domain of others": {"email": "ada@elsewhere.example"},
    "domain below": {"email": f"ada@mail.{DOMAIN}"},
    "domain in the local part": {"email": f'"ada@{DOMAIN}"@elsewhere.example'},
    "two addresses": {"email": f"ada@elsewhere.example,ada@{DOMAIN}"},
    "list of addresses": {"email": [ADA]},
    "line break": {"email": f"x@elsewhere.example\n@{DOMAIN}"},
}


@pytest.mark.parametrize("name", REFUSED_PEOPLE)
def test_addresses_that_the_provider_cannot_vouch_for(
    row: IdentityProvider, idp: Provider, name: str
) -> None:
    idp.claims |= REFUSED_PEOPLE[name]
    client = Client()

    assert sign_on(client, row, idp).status_code == 403
    assert not is_signed_in(client)


def test_a_subject_that_takes_over_an_address_does_not_get_its_account(
    row: IdentityProvider, idp: Provider
) -> None:
    """An address is given to somebody new: another subject, who is another person."""
    sign_on(Client(), row, idp)
    idp.claims["sub"] = "s-2"
    client = Client()

    assert sign_on(client, row, idp).status_code == 403
    assert not is_signed_in(client)


def test_a_known_subject_whose_account_moved_to_another_domain_is_refused(
    row: IdentityProvider, idp: Provider, ada: User
) -> None:
    sign_on(Client(), row, idp)
    User.objects.filter(id=ada.id).update(email="ada@home.example")

    assert sign_on(Client(), row, idp).status_code == 403


def test_a_domain_that_is_no_longer_proved_vouches_for_nobody(
    row: IdentityProvider, idp: Provider
) -> None:
    row.domains.update(proved_at=None)

    assert sign_on(Client(), row, idp).status_code == 403


def test_a_companys_provider_never_opens_the_back_office(
    row: IdentityProvider, idp: Provider, ada: User
) -> None:
    User.objects.filter(id=ada.id).update(is_staff=True)

    assert sign_on(Client(), row, idp).status_code == 403


def test_a_switched_off_account_stays_out(row: IdentityProvider, idp: Provider, ada: User) -> None:
    User.objects.filter(id=ada.id).update(is_active=False)

    assert sign_on(Client(), row, idp).status_code == 403


# The provider's address is a stranger's: the site must not be led into its own network.


@pytest.mark.parametrize(
    "issuer",
    [
        "http://127.0.0.1:{port}",
        "https://127.0.0.1:{port}",
        "https://localhost:{port}",
        "https://169.254.169.254",
        "https://[::1]:{port}",
    ],
)
def test_private_addresses_are_not_asked(settings: Any, idp: Provider, issuer: str) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    port = idp.issuer.rpartition(":")[2]

    with pytest.raises(ProviderFailed, match="UNREACHABLE"):
        discover(issuer.format(port=port))

    assert idp.asked == []


@pytest.mark.parametrize(("path", "why"), [("/moved", "UNREACHABLE"), ("/long", "UNREACHABLE")])
def test_redirects_and_endless_answers_of_a_provider(idp: Provider, path: str, why: str) -> None:
    with pytest.raises(ProviderFailed, match=why):
        discover(idp.issuer + path)

    assert discover(idp.issuer)["issuer"] == idp.issuer, "the control"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"issuer": "https://evil.example"}, "OTHER_ISSUER"),
        ({"jwks_uri": None}, "INCOMPLETE"),
        ({"token_endpoint": "file:///etc/passwd"}, "INCOMPLETE"),
        ({"id_token_signing_alg_values_supported": ["HS256", "none"]}, "NO_PUBLIC_KEY"),
    ],
)
def test_discovery_that_lies(idp: Provider, changes: dict[str, Any], why: str) -> None:
    idp.discovery = changes

    with pytest.raises(ProviderFailed, match=why):
        discover(idp.issuer)


def test_the_secret_is_not_stored_in_the_clear(row: IdentityProvider) -> None:
    assert b"secret" not in bytes(row.secret)
