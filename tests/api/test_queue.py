"""A job's line for its company: the whole pipeline, and the queue in pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers, signed_in


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row.get("id") or row["application_id"] for row in rows]


def test_the_pipeline_shows_everybody_where_they_stand(acme: Caller, job: UUID) -> None:
    body = acme.get(f"/jobs/{job}/pipeline").json()

    assert list(body) == ["job", "active", "pending", "waitlist"]
    assert body["job"] == acme.get(f"/jobs/{job}").json()
    assert [row["status"] for row in body["active"]] == ["ACTIVE"]
    assert [row["status"] for row in body["pending"]] == ["PENDING_ACKNOWLEDGMENT"]
    assert ids(body["waitlist"]["data"]) == [str(each) for each in factories.line(job)]
    assert [row["position"] for row in body["waitlist"]["data"]] == [1, 2, 3]
    assert body["waitlist"]["next_cursor"] is None


def test_the_pipelines_waitlist_goes_on_in_the_queue(acme: Caller, job: UUID) -> None:
    waitlist = acme.get(f"/jobs/{job}/pipeline", {"limit": "2"}).json()["waitlist"]

    rest = acme.get(f"/jobs/{job}/queue", {"cursor": waitlist["next_cursor"]}).json()

    assert ids(waitlist["data"] + rest["data"]) == [str(each) for each in factories.line(job)]
    assert [row["position"] for row in rest["data"]] == [3]


def test_the_queue_comes_in_pages_with_positions(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    factories.applications(job, 8)
    seen: list[dict[str, Any]] = []
    query = {"limit": "3"}

    while True:
        answer = acme.get(f"/jobs/{job}/queue", query)
        seen += answer.json()["data"]
        if answer.json()["next_cursor"] is None:
            break
        query["cursor"] = answer.json()["next_cursor"]
        assert f"cursor={query['cursor']}" in answer.headers["Link"]
        assert 'rel="next"' in answer.headers["Link"]

    assert ids(seen) == [str(each) for each in factories.line(job)]
    assert [row["position"] for row in seen] == [1, 2, 3, 4, 5, 6, 7]


def test_pages_lose_nobody_while_the_line_moves(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    people = factories.applications(job, 8)
    first = acme.get(f"/jobs/{job}/queue", {"limit": "3"}).json()
    for gone in (people[0], people[2], people[3], people[5]):
        signed_in(gone.applicant).post(f"/applications/{gone.id}/withdraw")
    factories.application(job)

    second = acme.get(f"/jobs/{job}/queue", {"cursor": first["next_cursor"]}).json()

    line = [str(each) for each in factories.line(job)]
    left = [each for each in line if each not in ids(first["data"])]
    assert ids(second["data"]) == left
    assert [row["position"] for row in second["data"]] == [line.index(each) + 1 for each in left]


def test_an_empty_queue_is_an_empty_page(acme: Caller, company: Company) -> None:
    answer = acme.get(f"/jobs/{factories.job(company_id=company.id)}/queue")

    assert answer.json() == {"data": [], "next_cursor": None}


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "!!!!",
        "WzFd",  # [1]
        "WzEsMiwzXQ",  # [1,2,3]
        "WyJhIiwiYiJd",  # ["a","b"]
        "WzEsdHJ1ZV0",  # [1,true]
        "WzEuNSwxXQ",  # [1.5,1]
        "WzEsOTIyMzM3MjAzNjg1NDc3NTgwOF0",  # [1,9223372036854775808]
        "e30",  # {}
        "W1tdLFtdXQ",  # [[],[]]
        "WzEsTmFOXQ",  # [1,NaN]
        "a" * 5_000,
    ],
)
def test_a_cursor_that_nobody_gave_is_refused(acme: Caller, job: UUID, cursor: str) -> None:
    answer = acme.get(f"/jobs/{job}/queue", {"cursor": cursor})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/cursor"]


def test_a_cursor_shows_no_more_than_its_bearer_may_see(
    acme: Caller, other: Caller, job: UUID
) -> None:
    cursor = acme.get(f"/jobs/{job}/queue", {"limit": "1"}).json()["next_cursor"]

    assert code_of(other.get(f"/jobs/{job}/queue", {"cursor": cursor})) == (404, "NOT_FOUND")
