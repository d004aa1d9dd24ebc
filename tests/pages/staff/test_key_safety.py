"""Keys expire, and only an owner who has just proved their identity can make one."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from jobs import keys
from jobs.models import ApiKey, Company, User
from tests.pages.staff.test_keys import KEY, KEYS, status_with
from tests.support.accounts import PASSWORD, browser_of, sign_in
from tests.support.callers import SessionCaller, code_of, member_caller
from tests.support.pages import text_of

REAUTHENTICATE = "/account/reauthenticate/"


def form_of(client: Client, **given: object) -> dict[str, object]:
    page = client.get(KEYS).content.decode()
    key_id = re.search(r'name="key_id" value="([^"]+)"', page)
    assert key_id
    return {"key_id": key_id[1], "name": "Import", "scopes": ["read"]} | given


def test_an_owner_confirms_who_they_are_and_then_gets_the_key(ada: User) -> None:
    client = Client()
    sign_in(ada.email, PASSWORD, client)

    asked = client.post(KEYS, form_of(client))
    wrong = client.post(asked.url, {"password": "nonsense"})
    made = ApiKey.objects.count()
    shown = client.post(asked.url, {"password": PASSWORD})

    assert asked.url.startswith(REAUTHENTICATE)
    assert wrong.status_code == 422
    assert made == 0
    key = KEY.search(shown.content.decode())
    assert key
    assert "no-store" in shown["Cache-Control"]
    assert status_with(key[0]) == 200
    assert client.post(KEYS, form_of(client)).status_code == 201


def test_the_api_refuses_a_key_to_an_open_browser(ada: User, company: Company) -> None:
    caller = SessionCaller().as_staff(ada)

    refused = caller.post("/api-keys", {"name": "K"})

    assert code_of(refused) == (403, "PERMISSION_DENIED")
    assert "/account/reauthenticate/" in refused.json()["detail"]
    assert not ApiKey.objects.exists()


def test_an_account_without_password_and_second_step_has_nothing_to_repeat(
    company: Company,
) -> None:
    assert member_caller(company, "OWNER").post("/api-keys", {"name": "K"}).status_code == 201


@pytest.mark.parametrize("days", [1, 3_650])
def test_a_key_expires(company: Company, days: int) -> None:
    made = (
        member_caller(company, "OWNER")
        .post("/api-keys", {"name": "K", "expires_in_days": days})
        .json()
    )
    row = ApiKey.objects.get()
    before = status_with(made["key"])

    ApiKey.objects.update(expires_at=timezone.now())

    assert row.expires_at
    assert abs(row.expires_at - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)
    assert made["expires_at"] is not None
    assert before == 200
    assert status_with(made["key"]) == 401
    assert keys.find(made["key"]) is None


@pytest.mark.parametrize("days", [0, -1, 3_651, "soon"])
def test_a_lifetime_out_of_range_is_refused(company: Company, days: object) -> None:
    body = {"name": "K", "expires_in_days": days}

    assert code_of(member_caller(company, "OWNER").post("/api-keys", body))[0] == 400


def test_the_page_takes_and_shows_the_expiry(company: Company, ada: User) -> None:
    ada.set_unusable_password()
    ada.save()
    client = browser_of(ada)

    made = client.post(KEYS, form_of(client, expires_in_days="30"))
    refused = client.post(KEYS, form_of(client, expires_in_days="0"))

    assert made.status_code == 201
    assert refused.status_code == 422
    assert "expires" in text_of(client.get(KEYS))


def test_the_command_takes_the_expiry(company: Company) -> None:
    out = StringIO()
    call_command("create_api_key", str(company.id), name="K", expires_in_days=7, stdout=out)

    assert status_with(out.getvalue().strip()) == 200
    assert ApiKey.objects.get().expires_at
    with pytest.raises(CommandError, match="1 to 3,650 days"):
        call_command("create_api_key", str(company.id), name="K", expires_in_days=0)
