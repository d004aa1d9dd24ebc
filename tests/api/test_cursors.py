"""Cursors: each belongs to one list, with its filters and its order."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from uuid import UUID

import pytest

from pipeline.selectors.pages import encode_cursor
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers
from tests.support.feeds import wait_for_the_feed


def first_cursor(caller: Caller, path: str, query: dict[str, Any]) -> str:
    """The cursor at the end of a first page of one row."""
    cursor: str = caller.get(path, {"limit": "1", **query}).json()["next_cursor"]
    assert cursor
    return cursor


def parts_of(cursor: str) -> list[Any]:
    """The values in a cursor; the last is the digest of its list."""
    parts: list[Any] = json.loads(urlsafe_b64decode(cursor + "=="))
    return parts


@pytest.fixture
def people(acme: Caller, job: UUID) -> str:
    """A list of several applications: its path."""
    return f"/jobs/{job}/applications"


@pytest.mark.parametrize(
    ("query", "then"),
    [
        ({}, {"sort": "applied_at"}),
        ({"sort": "applied_at"}, {}),
        ({}, {"status": "WAITLIST"}),
        ({"status": "WAITLIST"}, {"status": "ACTIVE"}),
        ({"status": "WAITLIST"}, {}),
        ({}, {"metadata[source]": "fair"}),
    ],
)
def test_a_cursor_of_other_filters_or_another_order_is_refused(
    acme: Caller, people: str, query: dict[str, str], then: dict[str, str]
) -> None:
    answer = acme.get(people, {"cursor": first_cursor(acme, people, query), **then})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/cursor"]
    assert "belongs to another list" in answer.json()["errors"][0]["detail"]


def test_a_cursor_of_another_list_is_refused(acme: Caller, people: str) -> None:
    other = factories.job(company_id=factories.row_of(UUID(people.split("/")[2])).company_id)
    cursor = first_cursor(acme, people, {})

    for path in (f"/jobs/{other}/applications", "/jobs", "/tasks", "/events"):
        assert code_of(acme.get(path, {"cursor": cursor})) == (400, "VALIDATION_ERROR"), path


@pytest.mark.parametrize(
    "then",
    [
        {"limit": "2"},
        {"fields": "id"},
        {"expand": "decision"},
        {"nonsense": "1"},
        {"fields": "id,status", "limit": "3", "expand": "total"},
    ],
)
def test_the_size_and_shape_of_a_page_can_change_on_the_way(
    acme: Caller, people: str, then: dict[str, str]
) -> None:
    everyone = [row["id"] for row in acme.get(people).json()["data"]]
    cursor = first_cursor(acme, people, {})

    rest = acme.get(people, {"cursor": cursor, **then}).json()["data"]

    assert rest[0]["id"] == everyone[1]


def test_a_cursor_from_before_they_were_bound_goes_on(acme: Caller, people: str) -> None:
    everyone = [row["id"] for row in acme.get(people).json()["data"]]
    cursor = first_cursor(acme, people, {})
    old = encode_cursor(*parts_of(cursor)[:-1])

    rest = acme.get(people, {"cursor": old}).json()["data"]
    assert [row["id"] for row in rest] == everyone[1:]


def test_a_page_of_the_log_goes_on_without_its_beginning(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/events"
    cursor = first_cursor(acme, path, {"after_seq": "2"})

    assert acme.get(path, {"cursor": cursor}).json()["data"][0]["seq"] == 4
    assert code_of(acme.get(path, {"cursor": cursor, "event": "APPLIED"})) == (
        400,
        "VALIDATION_ERROR",
    )


def test_the_feed_goes_on_with_another_filter(acme: Caller, job: UUID) -> None:
    """Its cursor is a place among all events, whichever of them are shown."""
    wait_for_the_feed()
    cursor = acme.get("/events", {"limit": "1"}).json()["next_cursor"]

    answer = acme.get("/events", {"cursor": cursor, "event": "PROMOTED"})

    assert answer.status_code == 200
    assert {event["event"] for event in answer.json()["data"]} == {"PROMOTED"}


@pytest.mark.parametrize("digest", ["", "AAAAAAAA", "\u00e9", 1, None, ["AAAAAAAA"]])
def test_a_changed_digest_is_refused(acme: Caller, people: str, digest: Any) -> None:
    *place, _ = parts_of(first_cursor(acme, people, {}))
    forged = urlsafe_b64encode(json.dumps([*place, digest]).encode()).decode().rstrip("=")

    assert code_of(acme.get(people, {"cursor": forged})) == (400, "VALIDATION_ERROR")
