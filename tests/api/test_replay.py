"""Past states of the line in the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.models import Event
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers
from tests.support.clock import database_now


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row.get("id") or row["application_id"] for row in rows]


def test_replay_shows_the_line_as_it_is_now(acme: Caller, job: UUID) -> None:
    now = acme.get(f"/jobs/{job}/pipeline").json()

    body = acme.get(f"/jobs/{job}/replay").json()

    assert body["seq"] == now["job"]["seq"]
    assert body["policy"] == now["job"]["policy"]
    assert (body["status"], body["capacity"]) == ("OPEN", 2)
    for part in ("active", "pending"):
        assert ids(body[part]) == ids(now[part])
    assert ids(body["waitlist"]) == ids(now["waitlist"]["data"])
    assert [place["position"] for place in body["waitlist"]] == [1, 2, 3]
    assert body["pending"][0]["acknowledge_by"] == now["pending"][0]["acknowledge_by"]
    assert body["server_time"] is not None


def test_replay_by_seq_and_by_time_agree(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/replay"
    at = Event.objects.get(job_id=job, seq=5).at.isoformat()

    by_seq = acme.get(path, {"seq": "5"}).json()

    assert (len(by_seq["active"]), len(by_seq["waitlist"])) == (2, 1)
    for query in ({"as_of": at}, {"asOf": at}, {"as_of": at.replace("+00:00", "Z")}):
        by_time = acme.get(path, query).json()
        assert by_time | {"server_time": ""} == by_seq | {"server_time": ""}


def test_a_time_before_the_job_is_not_there_and_the_future_cannot_be_asked_for(
    acme: Caller, job: UUID
) -> None:
    path, now = f"/jobs/{job}/replay", database_now()

    assert code_of(acme.get(path, {"seq": "0"})) == (404, "NOT_FOUND")
    assert code_of(acme.get(path, {"seq": "-5"})) == (404, "NOT_FOUND")
    assert code_of(acme.get(path, {"as_of": "1999-01-01T00:00:00Z"})) == (404, "NOT_FOUND")
    later = (now + timedelta(hours=1)).isoformat()
    assert code_of(acme.get(path, {"as_of": later})) == (400, "VALIDATION_ERROR")
    assert code_of(acme.get(path, {"seq": "9999"})) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "query",
    [
        {"as_of": "2026-01-01"},
        {"as_of": "2026-01-01T00:00:00"},
        {"as_of": "yesterday"},
        {"as_of": ""},
        {"as_of": "2026-13-01T00:00:00Z"},
        {"as_of": "2026-01-01T24:00:01Z"},
        {"as_of": "0001-01-01T00:00:00+23:59"},
        {"as_of": "9999-12-31T23:59:59-23:59"},
        {"as_of": "2026-01-01T00:00:00Z\0"},
        {"asOf": "1735689600"},
        {"seq": "one"},
        {"seq": "1.0"},
        {"seq": "9" * 20},
        {"seq": "1", "as_of": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_moment_that_is_none_is_refused(acme: Caller, job: UUID, query: dict[str, str]) -> None:
    answer = acme.get(f"/jobs/{job}/replay", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [f"/{next(iter(query))}"]


def test_an_offset_whose_plus_became_a_space_is_understood(acme: Caller, job: UUID) -> None:
    answer = acme.get(f"/jobs/{job}/replay?as_of=1999-01-01T00:00:00+00:00")

    assert code_of(answer) == (404, "NOT_FOUND")


def test_the_waitlist_comes_in_pages_of_one_moment(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/replay"
    whole = acme.get(path).json()

    first = acme.get(path, {"limit": "2"})
    cursor = first.json()["next_cursor"]
    factories.application(job)
    rest = acme.get(path, {"limit": "2", "cursor": cursor}).json()

    assert whole["next_cursor"] is None
    assert f"cursor={cursor}" in first.headers["Link"]
    assert first.json()["waitlist"] + rest["waitlist"] == whole["waitlist"]
    assert rest["seq"] == whole["seq"]
    assert (rest["active"], rest["pending"], rest["next_cursor"]) == ([], [], None)


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "1001"}, {"cursor": "x"}])
def test_a_page_of_the_waitlist_that_is_none_is_refused(
    acme: Caller, job: UUID, query: dict[str, str]
) -> None:
    assert code_of(acme.get(f"/jobs/{job}/replay", query)) == (400, "VALIDATION_ERROR")
