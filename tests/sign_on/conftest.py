"""A company with an identity provider that vouches for acme.example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from jobs.models import Company
from pipeline.models import IdentityProvider
from pipeline.sign_on import providers
from tests.sign_on.provider import CLIENT_ID, SECRET, Provider, asked_for, start

DOMAIN = "acme.example"
ComeBack = Callable[..., Any]


@pytest.fixture
def idp(settings: Any) -> Iterator[Provider]:
    """Return a provider on this machine, which the site may reach."""
    settings.WEBHOOK_ALLOW_PRIVATE = True
    made = Provider(claims={"email": f"ada@{DOMAIN}", "email_verified": True, "name": "Ada"})
    server = start(made)
    yield made
    server.shutdown()
    server.server_close()


def set_up(company: Company | None, idp: Provider, domain: str = DOMAIN) -> IdentityProvider:
    """Set a provider up as an owner does, with a proved domain."""
    row = providers.save(
        company_id=company.id if company else None,
        by=None,
        name="Acme account",
        issuer=idp.issuer,
        client_id=CLIENT_ID,
        secret=SECRET,
    )
    row.domains.create(domain=domain, token="t", proved_at=Now(), checked_at=Now())
    return row


@pytest.fixture
def row(company: Company, idp: Provider) -> IdentityProvider:
    """Return the company's provider."""
    return set_up(company, idp)


def begin(client: Client, row: IdentityProvider, idp: Provider) -> dict[str, str]:
    """Go to a provider; return what the browser was sent with."""
    answer = client.get(f"/account/sign-on/{row.id}/")
    assert answer.status_code == 302, answer.content
    sent = asked_for(answer.url)  # type: ignore[attr-defined]
    idp.nonce = sent["nonce"]
    return sent


def come_back(client: Client, row: IdentityProvider, state: str, **more: str) -> Any:
    """Come back from a provider with a code."""
    return client.get(f"/account/sign-on/{row.id}/callback/", {"code": "c", "state": state} | more)


def sign_on(client: Client, row: IdentityProvider, idp: Provider) -> Any:
    """Go to a provider and come back; return the answer."""
    return come_back(client, row, begin(client, row, idp)["state"])
