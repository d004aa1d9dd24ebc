"""Clients that the event loop tells apart: those whose credential was accepted."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client as Browser

from jobs import keys
from jobs.models import Membership, Role, Scope
from pipeline.server.clients import Client, Clients
from pipeline.web.addresses import ACCEPTED_CREDENTIAL
from tests.support import factories

ADDRESS = Client("192.0.2.1", is_known=False)


def scope(credential: bytes = b"", session: str = "") -> dict[str, object]:
    headers = [(b"authorization", credential)] if credential else []
    cookie = f"a=b; {settings.SESSION_COOKIE_NAME}={session}; c=d"
    headers += [(b"cookie", cookie.encode())] if session else []
    return {"client": ("192.0.2.1", 5), "headers": headers}


def test_a_made_up_credential_is_worth_no_more_than_its_address() -> None:
    clients = Clients()

    clients.note_client(ADDRESS, scope(b"Bearer made-up"), {})
    clients.note_client(ADDRESS, scope(session="made-up"), {})

    assert clients.find_client(scope(b"Bearer made-up")) == ADDRESS
    assert clients.find_client(scope(session="made-up")) == ADDRESS
    assert clients.find_client(scope()) == ADDRESS


def test_an_accepted_credential_is_a_client_of_its_own() -> None:
    clients = Clients()

    clients.note_client(ADDRESS, scope(b"Bearer genuine"), {ACCEPTED_CREDENTIAL: "key:1"})
    clients.note_client(ADDRESS, scope(), {ACCEPTED_CREDENTIAL: "key:2"})

    assert clients.find_client(scope(b"Bearer genuine")) == Client("key:1", is_known=True)
    assert clients.find_client(scope()) == ADDRESS


def test_all_sessions_of_a_person_are_one_client() -> None:
    clients = Clients()

    for session in ("one", "two"):
        clients.note_client(ADDRESS, scope(session=session), {ACCEPTED_CREDENTIAL: "member:1"})

    assert clients.find_client(scope(session="one")) == clients.find_client(scope(session="two"))
    assert clients.find_client(scope(session="one")).is_known


def test_a_session_that_changes_hands_counts_for_its_new_owner() -> None:
    clients = Clients()
    clients.note_client(ADDRESS, scope(session="one"), {ACCEPTED_CREDENTIAL: "member:1"})
    first = clients.find_client(scope(session="one"))

    clients.note_client(first, scope(session="one"), {ACCEPTED_CREDENTIAL: "member:2"})

    assert clients.find_client(scope(session="one")) == Client("member:2", is_known=True)


@pytest.mark.django_db
def test_django_names_whoever_it_has_accepted_on_pages_too() -> None:
    company, user = factories.company(), factories.UserFactory.create(password=None)
    Membership.objects.create(company_id=company.id, user=user, role=Role.VIEWER)
    member, visitor = Browser(), Browser()
    member.force_login(user)

    known = member.get("/company/").wsgi_request.META.get(ACCEPTED_CREDENTIAL)
    unknown = [visitor.get(path).wsgi_request.META for path in ("/", "/company/", "/api/v1/jobs")]

    assert known == f"member:{user.pk}"
    assert all(ACCEPTED_CREDENTIAL not in each for each in unknown)


@pytest.mark.django_db
def test_django_names_whoever_it_has_accepted_in_the_api() -> None:
    company = factories.company()
    key, token = keys.create(company_id=company.id, name="k", scopes=list(Scope))
    names = [
        Browser()
        .get("/api/v1/companies/me", headers={"Authorization": f"Bearer {said}"})
        .wsgi_request.META.get(ACCEPTED_CREDENTIAL)
        for said in (token, "made-up")
    ]

    assert names == [f"key:{key.id}", None]
