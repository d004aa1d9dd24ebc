"""API keys, made, listed and revoked by an owner in person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs.models import ApiKey
from tests.support import factories
from tests.support.callers import (
    UNKNOWN_ID,
    Caller,
    SessionCaller,
    code_of,
    pointers,
)

FIELDS = ["id", "hint", "name", "scopes", "created_at", "last_used_at", "revoked_at", "expires_at"]
FIELDS += ["job_ids"]


def test_a_new_key_is_shown_once_and_opens_what_its_scopes_say(owner_api: SessionCaller) -> None:
    answer = owner_api.post("/api-keys", {"name": " CI ", "scopes": ["read"]})

    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    assert list(body) == [*FIELDS, "key"]
    assert (body["name"], body["scopes"], body["last_used_at"]) == ("CI", ["read"], None)
    assert body["key"].startswith(body["hint"])
    caller = Caller(body["key"])
    assert caller.get("/companies/me").status_code == 200
    assert caller.post("/jobs", {"title": "Cook", "capacity": 1}).status_code == 403
    [listed] = owner_api.get("/api-keys").json()["data"]
    assert list(listed) == FIELDS
    assert body["key"] not in owner_api.get("/api-keys").content.decode()


def test_a_key_learns_the_id_by_which_events_name_it(owner_api: SessionCaller) -> None:
    made = owner_api.post("/api-keys", {"name": "CI", "scopes": ["read", "write"]}).json()
    caller = Caller(made["key"])

    company = caller.get("/companies/me").json()

    assert company["key_id"] == made["id"]
    job = caller.post("/jobs", {"title": "Cook", "capacity": 1}).json()
    [created, _] = caller.get(f"/jobs/{job['id']}/events").json()["data"]
    assert created["actor"] == {"kind": "COMPANY", "id": company["key_id"]}
    assert owner_api.get("/companies/me").json()["key_id"] is None


def test_a_key_may_read_and_write_unless_told_otherwise(owner_api: SessionCaller) -> None:
    body = owner_api.post("/api-keys", {"name": "CI"}).json()

    assert body["scopes"] == ["read", "write"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "a\u202eb"}, "/name"),
        ({"name": "CI", "scopes": []}, "/scopes"),
        ({"name": "CI", "scopes": "read"}, "/scopes"),
        ({"name": "CI", "scopes": ["admin"]}, "/scopes/0"),
        ({"name": "CI", "key": "nilk_mine"}, "/key"),
    ],
)
def test_what_is_no_key_is_refused_by_name(
    owner_api: SessionCaller, body: dict[str, Any], pointer: str
) -> None:
    answer = owner_api.post("/api-keys", body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]
    assert not ApiKey.objects.exists()


def test_a_revoked_key_opens_nothing_and_stays_in_the_list(
    owner_api: SessionCaller, acme: Caller
) -> None:
    [key] = owner_api.get("/api-keys").json()["data"]

    assert owner_api.delete(f"/api-keys/{key['id']}").status_code == 204
    assert code_of(acme.get("/companies/me")) == (401, "NOT_AUTHENTICATED")
    [after] = owner_api.get("/api-keys").json()["data"]
    assert after["revoked_at"]

    assert owner_api.delete(f"/api-keys/{key['id']}").status_code == 204
    again = owner_api.post(f"/api-keys/{key['id']}/revoke")
    assert again.status_code == 200
    assert again.json() == after


def test_another_companys_key_is_not_there(owner_api: SessionCaller, other: Caller) -> None:
    theirs = ApiKey.objects.get()

    for name in (theirs.id, UNKNOWN_ID, "1"):
        assert code_of(owner_api.delete(f"/api-keys/{name}")) == (404, "NOT_FOUND")
        assert code_of(owner_api.post(f"/api-keys/{name}/revoke")) == (404, "NOT_FOUND")

    assert owner_api.get("/api-keys").json()["data"] == []
    assert other.get("/companies/me").status_code == 200


def test_the_list_comes_newest_first_in_pages(owner_api: SessionCaller) -> None:
    for name in ("one", "two", "three"):
        owner_api.post("/api-keys", {"name": name})

    first = owner_api.get("/api-keys", {"limit": 2}).json()
    second = owner_api.get("/api-keys", {"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [key["name"] for key in first["data"] + second["data"]] == ["three", "two", "one"]
    assert second["next_cursor"] is None


def test_the_last_use_is_written_down_once_a_minute_at_most(owner_api: SessionCaller) -> None:
    caller = Caller(owner_api.post("/api-keys", {"name": "CI"}).json()["key"])

    caller.get("/companies/me")
    first = ApiKey.objects.get().last_used_at
    caller.get("/companies/me")
    assert first
    assert ApiKey.objects.get().last_used_at == first

    ApiKey.objects.update(last_used_at=F("last_used_at") - timedelta(seconds=61))
    caller.get("/companies/me")
    assert ApiKey.objects.get().last_used_at > first


def test_a_new_key_is_not_kept_with_an_idempotency_key(owner_api: SessionCaller) -> None:
    made = [
        owner_api.post("/api-keys", {"name": "CI"}, Idempotency_Key="k").json() for _ in range(2)
    ]

    assert made[0]["key"] != made[1]["key"]
    assert factories.company().api_keys.count() == 0


def test_a_key_reads_its_own_scopes(owner_api: SessionCaller) -> None:
    made = owner_api.post("/api-keys", {"name": "CI", "scopes": ["write", "read"]}).json()

    assert Caller(made["key"]).get("/companies/me").json()["scopes"] == ["read", "write"]
    assert owner_api.get("/companies/me").json()["scopes"] is None
