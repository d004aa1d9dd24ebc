"""Asking for no seat yet over the API: by the person, within bounds, and refused by name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application, Event
from tests.api.test_portal_tokens import portal
from tests.support import factories
from tests.support.callers import Caller, code_of, key_of, pointers, signed_in
from tests.support.clock import database_now, let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting(company: Company) -> Application:
    """The first of two who wait for the only seat."""
    job_id = factories.job(company_id=company.id)
    _seated, first, _second = factories.applications(job_id, 3)
    return first


def path_of(application: Application) -> str:
    return f"/applications/{application.id}/defer"


def ahead(**span: Any) -> dict[str, str]:
    return {"not_before": (database_now() + timedelta(**span)).isoformat()}


def test_the_answer_has_the_time_and_the_same_position(waiting: Application) -> None:
    answer = signed_in(waiting.applicant).post(path_of(waiting), ahead(days=3))

    assert answer.status_code == 200
    body = answer.json()
    assert (body["status"], body["position"], body["people_waiting"]) == ("WAITLIST", 1, 2)
    assert body["not_before"] > body["server_time"]
    assert body["decay_count"] == 0


def test_the_company_reads_it_in_the_line_and_in_the_past(
    acme: Caller, waiting: Application
) -> None:
    signed_in(waiting.applicant).post(path_of(waiting), ahead(days=3))

    queue = acme.get(f"/jobs/{waiting.job_id}/queue").json()["data"]
    replay = acme.get(f"/jobs/{waiting.job_id}/replay").json()["waitlist"]
    assert [bool(each["not_before"]) for each in queue] == [True, False]
    assert [each["not_before"] for each in replay] == [each["not_before"] for each in queue]
    [*_, told] = acme.get(f"/applications/{waiting.id}/timeline").json()["data"]
    assert told["event"] == "DEFERRED"
    assert "asked not to be offered a seat until" in told["sentence"]


def test_a_time_that_has_passed_is_null(acme: Caller, waiting: Application) -> None:
    person = signed_in(waiting.applicant)
    person.post(path_of(waiting), ahead(days=1))
    before = acme.get(f"/jobs/{waiting.job_id}/queue")

    let_time_pass(waiting.job_id, 2 * 86_400)

    after = acme.get(f"/jobs/{waiting.job_id}/queue")
    assert person.get(f"/applications/{waiting.id}").json()["not_before"] is None
    assert before.headers["ETag"] != after.headers["ETag"]


def test_null_takes_it_back(waiting: Application) -> None:
    person = signed_in(waiting.applicant)
    person.post(path_of(waiting), ahead(days=3))

    answer = person.post(path_of(waiting), {"not_before": None})

    assert answer.json()["not_before"] is None
    assert factories.event_names(waiting.job_id).count("DEFERRED") == 2


@pytest.mark.parametrize("span", [{"days": 61}, {"seconds": -1}])
def test_a_time_out_of_bounds_is_named(waiting: Application, span: dict[str, int]) -> None:
    answer = signed_in(waiting.applicant).post(path_of(waiting), ahead(**span))

    assert code_of(answer) == (409, "NOT_DEFERRABLE")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "/not_before"),
        ({"not_before": "tomorrow"}, "/not_before"),
        ({"not_before": "2027-01-31T09:00:00"}, "/not_before"),
        ({"not_before": 5}, "/not_before"),
        ({"not_before": None, "until": 1}, "/until"),
    ],
)
def test_a_body_without_a_time_is_refused(waiting: Application, body: Any, where: str) -> None:
    answer = signed_in(waiting.applicant).post(path_of(waiting), body)

    assert answer.status_code == 400
    assert pointers(answer) == [where]


def test_an_offer_cannot_be_deferred(company: Company) -> None:
    offered = factories.application(
        factories.job(company_id=company.id, acknowledge_first_seat=True)
    )

    answer = signed_in(offered.applicant).post(path_of(offered), ahead(days=1))

    assert code_of(answer) == (409, "INVALID_TRANSITION")


def test_a_portal_token_may_and_the_log_names_the_key(
    company: Company, waiting: Application
) -> None:
    site = portal(key_of(company.id), waiting.applicant_id)

    assert site.post(path_of(waiting), ahead(days=3)).status_code == 200

    event = Event.objects.get(application_id=waiting.id, event="DEFERRED")
    assert event.actor_id == waiting.applicant_id
    assert event.data["via_key"]
