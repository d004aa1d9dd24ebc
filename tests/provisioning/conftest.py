"""A company whose identity provider provisions people at acme.example."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.db.models.functions import Now
from django.test import Client

from jobs.models import Company, Role, User
from pipeline.models import IdentityProvider
from pipeline.provisioning import tokens
from tests.support import factories
from tests.support.accounts import PASSWORD, is_signed_in, member_of, sign_in

DOMAIN = "acme.example"
ADA = f"ada@{DOMAIN}"
PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


def provider_of(company: Company, domain: str = DOMAIN) -> IdentityProvider:
    """Set a provider up, with a proved domain."""
    row = IdentityProvider.objects.create(
        company=company,
        name="Acme account",
        issuer=f"https://idp.{domain}",
        client_id="c",
        secret=b"",
    )
    row.domains.create(domain=domain, token="t", proved_at=Now(), checked_at=Now())
    return row


@dataclass
class Scim:
    """A client with a provisioning token, as an identity provider has."""

    secret: str

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request; return the answer, with its document."""
        answer = Client().generic(
            method,
            path if path.startswith("/") else f"/scim/v2/{path}",
            b"" if body is None else json.dumps(body),
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {self.secret}"} | headers,
        )
        answer.data = json.loads(answer.content) if answer.content else None  # type: ignore[attr-defined]
        return answer

    def add(self, user_name: str = ADA, **more: Any) -> Any:
        """Create a person; return the document."""
        answer = self.ask("POST", "Users", person(user_name, **more))
        assert answer.status_code == 201, answer.content
        return answer.data

    def patch(self, path: str, *operations: dict[str, Any]) -> Any:
        """Change a resource; return the answer."""
        return self.ask("PATCH", path, {"schemas": [PATCH_OP], "Operations": operations})

    def group(self, name: str, *ids: str, **more: Any) -> Any:
        """Create a group; return the document."""
        schema = "urn:ietf:params:scim:schemas:core:2.0:Group"
        members = [{"value": each} for each in ids]
        body = {"schemas": [schema], "displayName": name, "members": members} | more
        answer = self.ask("POST", "Groups", body)
        assert answer.status_code == 201, answer.content
        return answer.data


def person(user_name: str = ADA, **more: Any) -> dict[str, Any]:
    """Return a person as Entra sends them, with what no schema here has."""
    return {
        "schemas": [
            "urn:ietf:params:scim:schemas:core:2.0:User",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
        ],
        "externalId": f"x-{user_name}",
        "userName": user_name,
        "active": True,
        "displayName": "Ada Lovelace",
        "emails": [{"primary": True, "type": "work", "value": user_name}],
        "name": {"formatted": "Ada Lovelace", "givenName": "Ada", "familyName": "Lovelace"},
        "title": "Engineer",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Engines"},
    } | more


def signed_in(user: User) -> Client:
    """Return a browser in which an account has really signed in, with a password."""
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.filter(user=user).update(verified=True)
    client = Client()
    sign_in(user.email, client=client)
    assert is_signed_in(client)
    return client


@pytest.fixture
def owner(company: Company) -> User:
    """Return an owner of the company, whose address is elsewhere."""
    return member_of(company, Role.OWNER, email="olga@elsewhere.example")


@pytest.fixture
def row(company: Company, owner: User) -> IdentityProvider:
    """Return the company's provider."""
    return provider_of(company)


@pytest.fixture
def scim(row: IdentityProvider, owner: User) -> Scim:
    """Return a client with the company's token."""
    return Scim(tokens.make(row, by=owner.id)[1])


@pytest.fixture
def theirs() -> Scim:
    """Return a client with another company's token, whose domain is other.example."""
    other = factories.company(name="Other")
    return Scim(tokens.make(provider_of(other, "other.example"), by=None)[1])
