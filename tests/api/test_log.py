"""A job's log over the API."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from jobs.policies import Policy
from tests.support import factories
from tests.support.callers import UNKNOWN_ID, Caller, code_of, key_of, pointers
from tests.support.invariants import EXACT, numbers_in
from tests.support.sandboxes import DAY, advance, line_with_offers, sandbox

EVENT_FIELDS = [
    "seq",
    "id",
    "job_id",
    "application_id",
    "event",
    "from_status",
    "to_status",
    "outcome",
    "actor",
    "cause_seq",
    "policy_version",
    "at",
    "effective_at",
    "data",
    "prev_hash",
    "hash",
    "application",
]


def test_the_log_is_read_from_its_beginning_without_gaps(acme: Caller, job: UUID) -> None:
    events = acme.get(f"/jobs/{job}/events").json()["data"]

    assert [event["event"] for event in events] == factories.event_names(job)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(list(event) == EVENT_FIELDS for event in events)
    assert len({event["id"] for event in events}) == len(events)
    assert events[0]["actor"]["kind"] == "COMPANY"
    assert events[-1]["cause_seq"] == events[-2]["seq"]
    assert acme.get(f"/jobs/{job}/events").json()["data"] == events


def test_following_the_log_by_seq_or_by_cursor_gives_the_same(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/events"
    first = acme.get(path, {"limit": "4"}).json()

    by_cursor = acme.get(path, {"limit": "4", "cursor": first["next_cursor"]}).json()
    by_seq = acme.get(path, {"limit": "4", "after_seq": "4"}).json()

    assert [event["seq"] for event in by_cursor["data"]] == [5, 6, 7, 8]
    assert by_cursor == by_seq
    assert acme.get(path, {"after_seq": "999"}).json() == {"data": [], "next_cursor": None}


def test_every_number_in_the_log_is_whole_and_exact_in_any_client(company: Company) -> None:
    test_company = sandbox(company)
    largest = {
        each.name: each.metadata["high"] for each in fields(Policy) if "high" in each.metadata
    }
    job, _ = line_with_offers(test_company, people=3, **largest | {"max_decays": None})
    for _ in range(9):  # misses, at the highest price
        advance(test_company, 31 * DAY)
    caller = key_of(test_company.id)

    text = caller.get(f"/jobs/{job}/events", {"limit": "200"}).content

    log = json.loads(text)["data"]
    assert {"DECAYED", "CLOCK_ADVANCED"} <= {event["event"] for event in log}
    assert (
        max(event["data"].get("ticket") or 0 for event in log) > 2_000
    )  # the second miss costs twice as much
    assert all(abs(number) < EXACT for event in log for number in numbers_in(event))


@pytest.mark.parametrize("data", [{"ticket": 1.0}, {"policy": [{"places": 2.5}]}, [float("inf")]])
def test_a_number_that_is_not_whole_would_be_seen(data: Any) -> None:
    with pytest.raises(TypeError):
        list(numbers_in(data))


def test_the_log_of_one_application_and_of_one_kind(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/events"
    pending = acme.get(f"/jobs/{job}/pipeline").json()["pending"][0]["id"]

    def names(**query: str) -> list[str]:
        return [event["event"] for event in acme.get(path, query).json()["data"]]

    assert names(application=pending) == ["APPLIED", "PROMOTED"]
    assert names(application=pending, event="PROMOTED") == ["PROMOTED"]
    assert names(event="JOB_OPENED") == ["JOB_OPENED"]
    assert names(event="WITHDRAWN") == ["WITHDRAWN"]
    assert names(application=UNKNOWN_ID) == names(application="1") == []


def test_the_log_holds_nothing_personal(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    acme.post(f"/jobs/{job}/applications", {"name": "Zebedee", "email": "zeb@example.org"})

    text = acme.get(f"/jobs/{job}/events").content.decode()

    assert "Zebedee" not in text
    assert "zeb@" not in text


@pytest.mark.parametrize(
    "query",
    [{"after_seq": "-1"}, {"after_seq": "x"}, {"after_seq": "9" * 30}, {"event": "NOTHING"}],
)
def test_a_log_cannot_be_asked_for_nonsense(acme: Caller, job: UUID, query: dict[str, str]) -> None:
    answer = acme.get(f"/jobs/{job}/events", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [f"/{next(iter(query))}"]
