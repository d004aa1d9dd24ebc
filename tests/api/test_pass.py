"""Passing a turn over the API: by the person, within the policy, and refused by name."""

from __future__ import annotations

import pytest

from jobs.models import Company
from pipeline.models import Application, Event
from tests.api.test_portal_tokens import portal
from tests.support import factories
from tests.support.applicants import leave
from tests.support.callers import Caller, code_of, key_of, pointers, signed_in
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting(company: Company) -> Application:
    """The first of two who wait for the only seat."""
    job_id = factories.job(company_id=company.id)
    _seated, first, _second = factories.applications(job_id, 3)
    return first


@pytest.fixture
def offered(waiting: Application) -> Application:
    """The same person, with the seat on offer."""
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    return waiting


def passes(application: Application) -> str:
    return f"/applications/{application.id}/pass"


def test_the_answer_is_the_application_in_its_place(acme: Caller, offered: Application) -> None:
    answer = signed_in(offered.applicant).post(passes(offered), {})

    body = answer.json()
    assert (answer.status_code, body["status"], body["position"]) == (200, "WAITLIST", 1)
    assert (body["passes_used"], body["pass_next"], body["decay_count"]) == (1, False, 0)
    assert body["eligible_at"] > body["server_time"]
    [*_, told] = acme.get(f"/applications/{offered.id}/timeline").json()["data"]
    assert told["event"] == "PASSED"
    assert "After a pass" in told["sentence"]


def test_the_next_turn_is_passed_and_read_in_the_line(acme: Caller, waiting: Application) -> None:
    path = f"{passes(waiting)}-next"

    asked = signed_in(waiting.applicant).post(path, {"pass_next": True})

    assert asked.json()["pass_next"] is True
    for where, name in (("queue", "data"), ("replay", "waitlist")):
        people = acme.get(f"/jobs/{waiting.job_id}/{where}").json()[name]
        assert [each["pass_next"] for each in people] == [True, False]
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    row = acme.get(f"/applications/{waiting.id}").json()
    assert (row["status"], row["passes_used"], row["pass_next"]) == ("WAITLIST", 1, False)


def test_it_is_taken_back(waiting: Application) -> None:
    person, path = signed_in(waiting.applicant), f"{passes(waiting)}-next"
    person.post(path, {"pass_next": True})

    assert person.post(path, {"pass_next": False}).json()["pass_next"] is False


def test_a_body_without_the_wish_is_refused(waiting: Application) -> None:
    answer = signed_in(waiting.applicant).post(f"{passes(waiting)}-next", {})

    assert (answer.status_code, pointers(answer)) == (400, ["/pass_next"])


def test_too_many_passes_have_a_code(offered: Application) -> None:
    factories.alter(offered.job_id, policy={"max_passes": 0})

    answer = signed_in(offered.applicant).post(passes(offered), {})

    assert code_of(answer) == (409, "NOT_PASSABLE")


def test_too_late_is_gone_and_no_offer_is_a_conflict(offered: Application) -> None:
    let_time_pass(offered.job_id, factories.WINDOW)

    person = signed_in(offered.applicant)

    assert code_of(person.post(passes(offered), {})) == (410, "ACKNOWLEDGMENT_EXPIRED")
    second = Application.objects.get(job_id=offered.job_id, status="PENDING_ACKNOWLEDGMENT")
    refused = signed_in(second.applicant).post(f"{passes(second)}-next", {"pass_next": True})
    assert code_of(refused) == (409, "INVALID_TRANSITION")


def test_a_portal_token_passes_for_its_person(company: Company, offered: Application) -> None:
    caller = portal(key_of(company.id), offered.applicant_id)

    assert caller.post(passes(offered), {}).status_code == 200
    event = Event.objects.get(application_id=offered.id, event="PASSED")
    assert event.data["via_key"]


def test_the_policy_has_the_limit(acme: Caller) -> None:
    made = acme.post("/jobs", {"title": "Cook", "capacity": 1, "policy": {"max_passes": 2}})
    refused = acme.post("/jobs", {"title": "Cook", "capacity": 1, "policy": {"max_passes": 3}})
    usual = acme.post("/jobs", {"title": "Cook", "capacity": 1})

    assert made.json()["policy"]["max_passes"] == 2
    assert usual.json()["policy"]["max_passes"] == 1
    assert (refused.status_code, pointers(refused)) == (400, ["/policy/max_passes"])
