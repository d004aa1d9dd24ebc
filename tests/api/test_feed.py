"""The feed of a company's events over the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from tests.api.test_log import EVENT_FIELDS
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers
from tests.support.feeds import wait_for_the_feed


def follow(caller: Caller, after: str | None, limit: int = 3) -> tuple[list[Any], str]:
    """Return everything after a cursor, and the cursor to continue with."""
    wait_for_the_feed()
    found: list[Any] = []
    while True:
        query = {"limit": str(limit)} | ({"after": after} if after else {})
        answer = caller.get("/events", query).json()
        found, after = found + answer["data"], answer["next_cursor"]
        if not answer["data"]:
            return found, answer["next_cursor"]


def test_a_poller_goes_on_where_it_stood(acme: Caller, job: UUID, company: Company) -> None:
    first, cursor = follow(acme, None)
    nothing, same = follow(acme, cursor)
    second = factories.job(company_id=company.id)
    then, _cursor = follow(acme, same)

    assert [event["seq"] for event in first] == [event.seq for event in factories.events(job)]
    assert all(list(event) == EVENT_FIELDS for event in first)
    assert (nothing, same) == ([], cursor)
    assert [event["job_id"] for event in then] == [str(second)] * 2


def test_a_company_without_events_can_poll_too(other: Caller) -> None:
    nothing, cursor = follow(other, None)

    assert nothing == []
    assert follow(other, cursor) == ([], cursor)


def test_only_a_page_with_more_behind_it_links_to_the_next(acme: Caller, job: UUID) -> None:
    wait_for_the_feed()

    first = acme.get("/events", {"limit": "2"})
    whole = acme.get("/events")

    assert f"cursor={first.json()['next_cursor']}" in first.headers["Link"]
    assert "Link" not in whole.headers
    assert whole.json()["next_cursor"]


def test_a_cursor_tells_nothing_of_others_and_is_nobody_elses(
    acme: Caller, other: Caller, job: UUID
) -> None:
    _events, cursor = follow(acme, None)

    answer = other.get("/events", {"after": cursor})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/after"]


@pytest.mark.parametrize("after", ["", "x", "W10", "WzFd", "WyJ4IiwgMV0", "WyJzdGFydCIsIDFd"])
def test_what_is_no_cursor_is_refused(acme: Caller, after: str) -> None:
    answer = acme.get("/events", {"after": after})

    assert pointers(answer) == ["/after"]
