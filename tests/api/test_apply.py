"""Applying through the API, as a person or as a company."""

from __future__ import annotations

from typing import Any

import pytest

from applicants.models import Applicant
from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.callers import UNKNOWN_ID, Caller, code_of, key_of, person, pointers

FIELDS = [
    "id",
    "job",
    "applicant",
    "status",
    "verified",
    "outcome",
    "position",
    "people_waiting",
    "decay_count",
    "decays_left",
    "acknowledge_by",
    "eligible_at",
    "not_before",
    "accept_until",
    "pass_next",
    "passes_used",
    "applied_at",
    "promoted_at",
    "acknowledged_at",
    "ended_at",
    "time_in_status_seconds",
    "review_since",
    "review_due_at",
    "external_id",
    "metadata",
    "decision",
    "decision_due_at",
    "answers",
    "source",
    "server_time",
]
ANN = {"name": "Ann", "email": "ann@example.org"}


@pytest.fixture
def path(company: Company) -> str:
    """URL for applying to a job with one seat."""
    return f"/jobs/{factories.job(company_id=company.id)}/applications"


def test_a_company_submits_somebody_who_is_seated_at_once(acme: Caller, path: str) -> None:
    answer = acme.post(path, ANN)

    body = answer.json()
    assert answer.status_code == 201
    assert list(body) == FIELDS
    assert (body["status"], body["position"], body["people_waiting"]) == ("ACTIVE", None, 0)
    assert body["applicant"] | {"id": ""} == {"id": "", **ANN}
    assert answer.headers["Location"] == f"/api/v1/applications/{body['id']}"
    shown = acme.get(f"/applications/{body['id']}").json()
    ticking = {"server_time": "", "time_in_status_seconds": 0}
    assert shown | ticking == body | ticking


def test_who_finds_no_seat_waits_and_learns_their_position(acme: Caller, path: str) -> None:
    acme.post(path, ANN)

    positions = []
    for name in ("bob", "cleo", "dan"):
        body = acme.post(path, {"name": name, "email": f"{name}@example.org"}).json()
        positions.append((body["status"], body["position"], body["people_waiting"]))

    assert positions == [("WAITLIST", 1, 1), ("WAITLIST", 2, 2), ("WAITLIST", 3, 3)]


def test_an_address_is_one_person_in_any_case(acme: Caller, path: str) -> None:
    acme.post(path, ANN)

    again = acme.post(path, {"name": "Anna", "email": "  ANN@Example.ORG "})

    assert code_of(again) == (409, "DUPLICATE_SUBMISSION")
    assert Applicant.objects.count() == 1
    assert list(Application.objects.values_list("name", flat=True)) == ["Ann"]


def test_a_person_applies_by_themselves_and_need_not_say_who_they_are(path: str) -> None:
    applicant, caller = person(name="Ann", email="ann@example.org")

    body = caller.post(path, {}).json()

    assert body["applicant"] == {"id": str(applicant.id), **ANN}
    event = Event.objects.get(event="APPLIED")
    assert (event.actor_kind, event.actor_id) == ("APPLICANT", applicant.id)


def test_a_person_applies_with_no_body_at_all(path: str) -> None:
    _applicant, caller = person()

    assert caller.post(path, b"").status_code == 201


@pytest.mark.parametrize(
    ("own", "given", "name"),
    [
        ("Ann", {"name": "Dr. Ann"}, "Dr. Ann"),
        ("Ann", {}, "Ann"),
        ("", {}, "ann.lee"),
        ("", {"name": "李安"}, "李安"),
    ],
)
def test_the_name_is_what_was_given_else_ones_own_else_from_the_address(
    path: str, own: str, given: dict[str, str], name: str
) -> None:
    applicant, caller = person(name=own, email="ann.lee@example.org")

    body = caller.post(path, given).json()

    assert body["applicant"]["name"] == name
    applicant.refresh_from_db()
    assert applicant.name == own


def test_the_log_names_the_key_that_submitted(acme: Caller, path: str, company: Company) -> None:
    acme.post(path, ANN)

    event = Event.objects.get(event="APPLIED")

    assert (event.actor_kind, event.actor_id) == ("COMPANY", company.api_keys.get().id)


def test_a_company_submits_by_id_whom_it_knows_under_the_name_it_was_told(
    acme: Caller, company: Company, path: str
) -> None:
    first = acme.post(path, ANN).json()["applicant"]
    elsewhere = factories.job()
    known = Applicant.objects.get()
    known.name = "Secret"
    known.save()
    factories.application(elsewhere, known, actor=factories.RECRUITER)
    second = f"/jobs/{factories.job(company_id=company.id)}/applications"

    body = acme.post(second, {"applicant_id": first["id"]}).json()

    assert body["applicant"] == first


def test_a_company_cannot_submit_by_id_whom_it_does_not_know(acme: Caller, path: str) -> None:
    stranger, _caller = person()
    factories.application(factories.job(), stranger)

    for applicant_id in (str(stranger.id), UNKNOWN_ID, "1", "", "null"):
        answer = acme.post(path, {"applicant_id": applicant_id})
        expected = (404, "NOT_FOUND") if applicant_id else (400, "VALIDATION_ERROR")
        assert code_of(answer) == expected

    assert Application.objects.count() == 1


def test_two_companies_are_each_told_their_own_name(acme: Caller, other: Caller, path: str) -> None:
    theirs = other.post("/jobs", {"title": "Cook", "capacity": 1}).json()["id"]

    mine = acme.post(path, ANN).json()
    other.post(f"/jobs/{theirs}/applications", ANN | {"name": "Secret Name"})

    whole = acme.get(f"/applicants/{mine['applicant']['id']}").json()
    listed = acme.get(f"/applicants/{mine['applicant']['id']}/applications").json()["data"]
    assert whole["name"] == "Ann"
    assert [application["id"] for application in listed] == [mine["id"]]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": "Ann"}, "/email"),
        ({"email": "ann@example.org"}, "/name"),
        (ANN | {"email": "ann"}, "/email"),
        (ANN | {"email": "ann@"}, "/email"),
        (ANN | {"email": ""}, "/email"),
        (ANN | {"email": None}, "/email"),
        (ANN | {"email": 5}, "/email"),
        (ANN | {"email": ["ann@example.org"]}, "/email"),
        (ANN | {"email": "a\nb@example.org"}, "/email"),
        (ANN | {"email": "a" * 64 + "@" + ".".join(["b" * 60] * 4) + ".org"}, "/email"),
        (ANN | {"name": ""}, "/name"),
        (ANN | {"name": "x" * 201}, "/name"),
        (ANN | {"name": "a\x07b"}, "/name"),
        (ANN | {"name": {"first": "Ann"}}, "/name"),
        (ANN | {"status": "ACTIVE"}, "/status"),
        (ANN | {"applicant_id": UNKNOWN_ID}, "/email"),
        ({"applicant_id": 7}, "/applicant_id"),
    ],
)
def test_what_is_no_submission_is_refused_by_name(
    acme: Caller, path: str, body: dict[str, Any], pointer: str
) -> None:
    answer = acme.post(path, body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]
    assert Application.objects.count() == 0


@pytest.mark.parametrize("field", ["email", "applicant_id", "status"])
def test_a_person_cannot_say_that_they_are_somebody_else(path: str, field: str) -> None:
    _applicant, caller = person()

    answer = caller.post(path, {field: "x"})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [f"/{field}"]


@pytest.mark.parametrize("verb", ["pause", "close"])
def test_a_job_that_is_not_open_takes_nobody(acme: Caller, company: Company, verb: str) -> None:
    job = f"/jobs/{factories.job(company_id=company.id)}"
    acme.post(f"{job}/{verb}")
    _applicant, caller = person()

    assert code_of(acme.post(f"{job}/applications", ANN)) == (409, "JOB_NOT_OPEN")
    assert code_of(caller.post(f"{job}/applications", {})) == (409, "JOB_NOT_OPEN")


def test_who_was_decided_on_comes_back_only_through_the_company(acme: Caller, path: str) -> None:
    applicant, caller = person()
    first = caller.post(path, {}).json()["id"]
    acme.post(f"/applications/{first}/remove", {"outcome": Outcome.REJECTED})

    again = caller.post(path, {})
    added = acme.post(path, {"name": "Ann", "email": applicant.email})

    assert code_of(again) == (409, "ALREADY_DECIDED")
    assert added.status_code == 201


def test_a_seat_that_must_be_acknowledged_comes_with_a_deadline(
    acme: Caller, company: Company
) -> None:
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)

    body = acme.post(f"/jobs/{job}/applications", ANN).json()

    assert body["status"] == "PENDING_ACKNOWLEDGMENT"
    assert body["acknowledge_by"] > body["server_time"]
    assert body["promoted_at"] == body["applied_at"]


def test_a_key_of_the_same_company_shares_its_people(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    mine = acme.post(f"/jobs/{job}/applications", ANN).json()

    assert key_of(company.id).get(f"/applications/{mine['id']}").status_code == 200
