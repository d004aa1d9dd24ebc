"""Creating jobs over the API."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from jobs.policies import Policy
from tests.support.callers import NEW_JOB, Caller, code_of, pointers

PAY = {"minimum": "9", "currency": "EUR", "period": "MONTH"}
FIELDS = {
    "id": str,
    "company": dict,
    "title": str,
    "description": str,
    "location": str,
    **dict.fromkeys(("employment_type", "workplace", "country"), type(None)),
    **dict.fromkeys(("department", "language", "pay"), type(None)),
    "status": str,
    "capacity": int,
    "active_count": int,
    "pending_count": int,
    "waitlist_count": int,
    "unverified_count": int,
    "seats_free": int,
    "policy": dict,
    "seq": int,
    "external_id": type(None),
    "metadata": dict,
    "draw_at": type(None),
    "drawn_at": type(None),
    "positions_to_fill": type(None),
    "hired_count": int,
    "reserved_seats": int,
    "reserved_seats_free": int,
    "reserved_for": type(None),
    "reserved_reason": str,
    "reserved_until": type(None),
    "opens_at": type(None),
    "closes_at": type(None),
    "review_target_seconds": type(None),
    "form_version": int,
    "questions": list,
    "opened_at": str,
    "closed_at": type(None),
    "created_at": str,
    "updated_at": str,
}


def test_a_created_job_is_open_and_has_every_field(acme: Caller, company: Company) -> None:
    answer = acme.post("/jobs", {"title": "Cook", "capacity": 2})

    body = answer.json()
    assert answer.status_code == 201
    assert {name: type(value) for name, value in body.items()} == FIELDS
    assert body["company"] == {"id": str(company.id), "name": "Acme"}
    assert body["status"] == "OPEN"
    assert body["policy"] == Policy().values() | {"version": 1}
    assert answer.headers["Location"] == f"/api/v1/jobs/{body['id']}"
    assert acme.get(f"/jobs/{body['id']}").json() == body


def test_a_created_job_says_what_it_was_given(acme: Caller) -> None:
    given = {
        "title": "  Köchin  ",
        "description": "Line one\nline two\n",
        "location": "Zürich",
        "employment_type": "PART_TIME",
        "workplace": "HYBRID",
        "country": "CH",
        "department": "Kitchen",
        "language": "de",
        "pay": {"minimum": "15.50", "maximum": "20", "currency": "CHF", "period": "HOUR"},
        "capacity": 10_000,
        "policy": {"max_decays": None, "penalty_places": 0, "acknowledge_first_seat": True},
        "status": "DRAFT",
    }

    body = acme.post("/jobs", given).json()

    assert body["title"] == "Köchin"
    assert body["description"] == "Line one\nline two"
    assert (body["location"], body["capacity"], body["status"]) == ("Zürich", 10_000, "DRAFT")
    facts = ("employment_type", "workplace", "country", "department", "language", "pay")
    assert {name: body[name] for name in facts} == {name: given[name] for name in facts}
    assert body["opened_at"] is None
    expected = Policy(max_decays=None, penalty_places=0, acknowledge_first_seat=True)
    assert body["policy"] == expected.values() | {"version": 1}


def test_times_are_utc_with_z(acme: Caller) -> None:
    body = acme.post("/jobs", {"title": "Cook", "capacity": 2}).json()

    assert body["created_at"].endswith("Z")
    assert body["opened_at"].endswith("Z")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"title": ""}, "/title"),
        ({"title": "   "}, "/title"),
        ({"title": "a\nb"}, "/title"),
        ({"title": None}, "/title"),
        ({"title": 5}, "/title"),
        ({"title": "x" * 201}, "/title"),
        ({"description": "x" * 20_001}, "/description"),
        ({"location": "x" * 201}, "/location"),
        ({"employment_type": "full-time"}, "/employment_type"),
        ({"workplace": ""}, "/workplace"),
        ({"country": "Netherlands"}, "/country"),
        ({"country": "XX"}, "/country"),
        ({"language": "english"}, "/language"),
        ({"department": "x" * 101}, "/department"),
        ({"pay": "3500"}, "/pay"),
        ({"pay": {"currency": "EUR", "period": "MONTH"}}, "/pay/minimum"),
        ({"pay": {"minimum": "9", "currency": "EUR"}}, "/pay/period"),
        ({"pay": PAY | {"minimum": 3500}}, "/pay/minimum"),
        ({"pay": PAY | {"minimum": "1e3"}}, "/pay/minimum"),
        ({"pay": PAY | {"minimum": "1.234"}}, "/pay/minimum"),
        ({"pay": PAY | {"minimum": "0"}}, "/pay/minimum"),
        ({"pay": PAY | {"maximum": "8"}}, "/pay/maximum"),
        ({"pay": PAY | {"currency": "eur"}}, "/pay/currency"),
        ({"pay": PAY | {"period": "CENTURY"}}, "/pay/period"),
        ({"pay": PAY | {"bonus": "1"}}, "/pay/bonus"),
        ({"capacity": 0}, "/capacity"),
        ({"capacity": 10_001}, "/capacity"),
        ({"capacity": "5"}, "/capacity"),
        ({"capacity": 1.5}, "/capacity"),
        ({"capacity": True}, "/capacity"),
        ({"capacity": None}, "/capacity"),
        ({"capacity": 10**30}, "/capacity"),
        ({"status": "CLOSED"}, "/status"),
        ({"status": "PAUSED"}, "/status"),
        ({"status": 1}, "/status"),
        ({"status": None}, "/status"),
        ({"policy": None}, "/policy"),
        ({"policy": []}, "/policy"),
        ({"policy": {"cooldown_seconds": 0}}, "/policy/cooldown_seconds"),
        (
            {"policy": {"acknowledgment_window_seconds": 59}},
            "/policy/acknowledgment_window_seconds",
        ),
        ({"policy": {"penalty_places": 1_001}}, "/policy/penalty_places"),
        ({"policy": {"penalty_places": None}}, "/policy/penalty_places"),
        ({"policy": {"max_decays": 101}}, "/policy/max_decays"),
        ({"policy": {"acknowledge_first_seat": "yes"}}, "/policy/acknowledge_first_seat"),
        ({"policy": {"version": 1}}, "/policy/version"),
        ({"salary": 1}, "/salary"),
        ({"a/b~c": 1}, "/a~1b~0c"),
        ({"id": "x"}, "/id"),
    ],
)
def test_what_a_job_cannot_be_is_refused_by_name(
    acme: Caller, change: dict[str, Any], pointer: str
) -> None:
    answer = acme.post("/jobs", NEW_JOB | change)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]


def test_everything_that_is_wrong_is_named_at_once(acme: Caller) -> None:
    answer = acme.post("/jobs", {"capacity": 0, "salary": 1, "policy": {"cooldown_seconds": -1}})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert sorted(pointers(answer)) == [
        "/capacity",
        "/policy/cooldown_seconds",
        "/salary",
        "/title",
    ]
    codes = {error["pointer"]: error["code"] for error in answer.json()["errors"]}
    assert codes["/title"] == "REQUIRED"
    assert codes["/salary"] == "UNKNOWN"
