"""API keys are shown once, and open nothing once they are revoked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from jobs import keys
from jobs.models import ApiKey, Company, Role, Scope, User
from pipeline.models import Producer
from pipeline.work.catalog import COMPANY_TYPES
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import UNKNOWN_ID

KEYS = "/company/keys/"
KEY = re.compile(r"nilk_[\w-]{43}")


@pytest.fixture
def ada(company: Company) -> User:
    """Return an owner without a password, who is not asked for it before making a key."""
    return member_of(company, email="ada@example.org")


def make_key(client: Client, **given: object) -> str:
    """Fill in the form and send it; the key that the answer shows."""
    page = client.get(KEYS).content.decode()
    key_id = re.search(r'name="key_id" value="([^"]+)"', page)
    assert key_id
    form = {"key_id": key_id[1], "name": "Import", "scopes": ["read"]} | given
    answer = client.post(KEYS, form)
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    shown = KEY.search(answer.content.decode())
    assert shown
    return shown[0]


def status_with(key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return Client().get("/api/v1/companies/me", headers=headers).status_code


def test_a_key_is_shown_once_and_works(ada: User) -> None:
    client = browser_of(ada)

    key = make_key(client)

    assert status_with(key) == 200
    assert not KEY.search(client.get(KEYS).content.decode())
    assert key not in str(dict(client.session.items()))


def test_sending_the_form_again_makes_no_second_key(ada: User) -> None:
    client = browser_of(ada)
    make_key(client)
    form = {"key_id": str(ApiKey.objects.get().id), "name": "Import", "scopes": ["read"]}

    again = client.post(KEYS, form)

    assert again.status_code == 422
    assert "already created" in again.content.decode()
    assert ApiKey.objects.count() == 1


def test_a_revoked_key_stops_working(ada: User) -> None:
    client = browser_of(ada)
    key = make_key(client)
    page = f"{KEYS}{ApiKey.objects.get().id}/revoke/"
    asked = client.get(page).content.decode()
    before = status_with(key)

    client.post(page)

    assert "Revoke key" in asked
    assert before == 200
    assert status_with(key) == 401


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_only_owners_have_to_do_with_keys(company: Company, role: Role) -> None:
    row, key = keys.create(company_id=company.id, name="K", scopes=[Scope.READ])
    client = browser_of(member_of(company, role))

    answers = [
        client.get(KEYS),
        client.post(KEYS, {"name": "x", "scopes": "read"}),
        client.post(f"{KEYS}{row.id}/revoke/"),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert status_with(key) == 200


def test_another_companys_key_is_not_there(ada: User) -> None:
    row, key = keys.create(company_id=factories.company().id, name="Theirs", scopes=[Scope.READ])
    client = browser_of(ada)

    assert "Theirs" not in client.get(KEYS).content.decode()
    assert client.get(f"{KEYS}{row.id}/revoke/").status_code == 404
    assert client.post(f"{KEYS}{row.id}/revoke/").status_code == 404
    assert status_with(key) == 200


def test_a_key_without_a_name_or_a_scope_is_refused(ada: User) -> None:
    answer = browser_of(ada).post(KEYS, {"name": " ", "key_id": "x"})

    assert answer.status_code == 422
    assert not ApiKey.objects.exists()


def test_an_owner_says_which_background_work_a_key_may_start(ada: User) -> None:
    client = browser_of(ada)
    everything = list(COMPANY_TYPES)

    make_key(client, tasks=["demo.sleep"], tasks_per_minute="60", name="Some")
    make_key(client, tasks=[], name="None of it")
    make_key(client, tasks=everything, name="All")

    limits = {each.key.name: (each.types, each.per_minute) for each in Producer.objects.all()}
    assert limits == {"Some": (["demo.sleep"], 60), "None of it": ([], None)}
    page = client.get(KEYS).content.decode()
    assert "starts sleep; at most 60 tasks per minute" in page
    assert "starts no tasks" in page


def test_a_rate_that_is_none_is_refused_in_words(ada: User) -> None:
    client = browser_of(ada)
    form = {"key_id": UNKNOWN_ID, "name": "a", "scopes": ["read"], "tasks_per_minute": "0"}

    answer = client.post(KEYS, form)

    assert answer.status_code == 422
    assert "Enter 1 or more." in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_a_site_without_test_tasks_names_none_to_a_key(ada: User, settings: Any) -> None:
    settings.DEMO_TASKS = False

    assert "demo.sleep" not in browser_of(ada).get(KEYS).content.decode()
