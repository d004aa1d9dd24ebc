"""Exceptions and reserved seats over the API."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def line(company: Company) -> list[Application]:
    """One in the only seat and two who wait."""
    return factories.applications(factories.job(company_id=company.id), 3)


def ahead(caller: Caller, person: Application, **body: Any) -> Any:
    return caller.post(f"/applications/{person.id}/move-ahead", body)


def test_a_person_is_moved_ahead_and_the_facts_count_it(
    acme: Caller, line: list[Application]
) -> None:
    answer = ahead(acme, line[2], reason="OTHER", text="A pilot with the city.")

    assert answer.status_code == 200
    assert (answer.json()["position"], answer.json()["status"]) == (1, "WAITLIST")
    facts = Caller().get(f"/jobs/{line[0].job_id}/facts").json()
    assert (facts["exceptions_count"], facts["exceptions_by_reason"]) == (1, {"OTHER": None})
    told = acme.get(f"/applications/{line[2].id}/timeline").json()["data"][-1]
    assert told["event"] == "MOVED_AHEAD"
    assert "ahead of 1 person. Its reason: another reason" in told["sentence"]
    queue = acme.get(f"/jobs/{line[0].job_id}/queue?limit=1").json()
    follow = acme.get(f"/jobs/{line[0].job_id}/queue?limit=1&cursor={queue['next_cursor']}").json()
    ids = [row["id"] for page in (queue, follow) for row in page["data"]]
    assert ids == [str(line[2].id), str(line[1].id)]


def test_what_is_refused_has_a_name(acme: Caller, line: list[Application]) -> None:
    assert code_of(ahead(acme, line[1], reason="OUR_ERROR")) == (409, "NOT_MOVABLE")
    assert code_of(ahead(acme, line[0], reason="OUR_ERROR")) == (409, "INVALID_TRANSITION")
    assert pointers(ahead(acme, line[2], reason="OTHER")) == ["/text"]
    assert pointers(ahead(acme, line[2], reason="FRIEND")) == ["/reason"]
    assert pointers(ahead(acme, line[2], reason="OUR_ERROR", text="x" * 501)) == ["/text"]


def test_seats_are_reserved_stated_and_confirmed(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=2)
    body = {"seats": 1, "kind": "OWN", "reason": "For apprentices of our school.", "code": "XYZ"}

    answer = acme.put(f"/jobs/{job}/reserved-seats", body)
    public = Caller().get(f"/jobs/{job}")
    factories.application(job)
    ana = signed_in(factories.applicant(name="Ana"))
    made = ana.post(f"/jobs/{job}/applications", {"name": "Ana", "group_code": "wrong"}).json()
    claim = f"/applications/{made['id']}/group-claim"

    assert answer.status_code == 200
    seats = public.json()
    assert (seats["reserved_seats"], seats["reserved_for"]) == (1, "OWN")
    assert (seats["reserved_reason"], seats["seats_free"]) == (body["reason"], 1)
    assert "XYZ" not in public.content.decode()
    assert made["status"] == "WAITLIST"
    assert acme.get(claim).json()["state"] == "STATED"
    assert acme.post(f"{claim}/decide", {"confirm": True}).json()["state"] == "CONFIRMED"
    assert ana.get(f"/applications/{made['id']}").json()["status"] == "PENDING_ACKNOWLEDGMENT"
    assert acme.get(f"/jobs/{job}").json()["reserved_seats_free"] == 0


def test_the_right_code_needs_no_decision_and_is_not_to_be_guessed(
    acme: Caller, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=2)
    body = {"seats": 1, "kind": "INTERNAL", "code": "XYZ"}
    acme.put(f"/jobs/{job}/reserved-seats", body)
    factories.application(job)
    person = factories.application(job)
    caller, path = signed_in(person.applicant), f"/applications/{person.id}/group-claim"

    tries = [caller.post(path, {"code": f"guess {number}"}).status_code for number in range(11)]

    assert tries == [200] * 10 + [429]
    other = factories.application(job)
    stated = signed_in(other.applicant).post(
        f"/applications/{other.id}/group-claim", {"code": "XYZ"}
    )
    assert stated.json()["state"] == "CONFIRMED"
    assert factories.status_of(other) == "PENDING_ACKNOWLEDGMENT"


def test_wrong_reserves_are_refused(acme: Caller, company: Company) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}/reserved-seats"

    assert pointers(acme.put(path, {"seats": 1})) == ["/kind"]
    assert pointers(acme.put(path, {"seats": 1, "kind": "OWN"})) == ["/reason"]
    assert pointers(acme.put(path, {"seats": -1})) == ["/seats"]
    refused = acme.put(path, {"seats": 2, "kind": "INTERNAL"})
    assert code_of(refused) == (409, "RESERVE_REFUSED")
