"""Giving a place back over the API: once, with a reason, and refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application, DecisionNote, Event
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)

BODY = {"reason": "MAIL_FAILURE"}


@pytest.fixture
def missed(company: Company) -> Application:
    """Someone who missed the only seat, which the next in line was offered."""
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    first, _second = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    return first


def path_of(application: Application) -> str:
    return f"/applications/{application.id}/reinstate"


def test_the_answer_is_the_application_at_its_former_place(
    acme: Caller, missed: Application
) -> None:
    newcomer = factories.application(missed.job_id)

    answer = acme.post(path_of(missed), BODY)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["status"], body["position"], body["people_waiting"]) == ("WAITLIST", 1, 2)
    assert (body["decay_count"], body["eligible_at"], body["ended_at"]) == (0, None, None)
    assert acme.get(f"/applications/{newcomer.id}").json()["position"] == 2


def test_the_reason_is_logged_and_the_free_text_is_not(acme: Caller, missed: Application) -> None:
    text = "Zebedee called: the email was in no mailbox"

    acme.post(path_of(missed), BODY | {"note": text})

    event = Event.objects.get(application_id=missed.id, event="REINSTATED")
    assert event.data["reason"] == "MAIL_FAILURE"
    assert "Zebedee" not in str(event.data)
    assert DecisionNote.objects.get(application_id=missed.id).text == text
    told = acme.get(f"/applications/{missed.id}/timeline").json()["data"][-1]
    assert told["event"] == "REINSTATED"
    assert "an email that did not arrive in time" in told["sentence"]


def test_repeating_it_changes_nothing_with_a_key_or_without(
    acme: Caller, missed: Application
) -> None:
    for headers in ({"idempotency_key": "back-1"}, {"idempotency_key": "back-1"}, {}):
        assert acme.post(path_of(missed), BODY, **headers).status_code == 200

    assert factories.event_names(missed.job_id).count("REINSTATED") == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/reason"),
        ({"reason": None}, "/reason"),
        ({"reason": "OTHER"}, "/reason"),
        ({"reason": ["OUR_ERROR"]}, "/reason"),
        (BODY | {"note": "x" * 1_001}, "/note"),
        (BODY | {"note": 5}, "/note"),
        (BODY | {"seat": True}, "/seat"),
        (BODY | {"reason_code": "OUR_ERROR"}, "/reason_code"),
    ],
)
def test_a_bad_body_is_refused_by_field(
    acme: Caller, missed: Application, body: Any, pointer: str
) -> None:
    answer = acme.post(path_of(missed), body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]


def test_each_refusal_has_its_name(acme: Caller, missed: Application) -> None:
    offered = Application.objects.get(job_id=missed.job_id, status="PENDING_ACKNOWLEDGMENT")
    newcomer = factories.application(missed.job_id)

    assert code_of(acme.post(path_of(offered), BODY)) == (409, "INVALID_TRANSITION")
    assert code_of(acme.post(path_of(newcomer), BODY)) == (409, "NOT_REINSTATABLE")
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))
    assert code_of(acme.post(path_of(missed), BODY)) == (409, "INVALID_TRANSITION")


def test_who_lapsed_and_applied_again_is_a_duplicate(acme: Caller, company: Company) -> None:
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True, max_decays=0)
    gone = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    factories.application(job_id, gone.applicant)

    assert code_of(acme.post(path_of(gone), BODY)) == (409, "DUPLICATE_SUBMISSION")
