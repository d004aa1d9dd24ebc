"""More time over the API, how long decisions wait, and when one that waits takes effect."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers, signed_in
from tests.support.clock import let_time_pass
from tests.support.decisions import made

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def offered(company: Company) -> Application:
    """Someone who was offered the only seat."""
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    return factories.application(job_id, factories.applicant(name="Ana Li"))


def extend(caller: Caller, person: Application, until: Any) -> Any:
    return caller.post(f"/applications/{person.id}/extend", {"acknowledge_by": until})


def later(person: Application, more: timedelta) -> datetime:
    deadline = factories.fresh(person).acknowledge_by
    assert deadline is not None
    return deadline + more


def test_the_answer_has_the_new_deadline_and_the_log_who_gave_it(
    acme: Caller, offered: Application
) -> None:
    until = later(offered, timedelta(hours=3)).replace(microsecond=0)

    answer = extend(acme, offered, until)

    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "PENDING_ACKNOWLEDGMENT"
    assert datetime.fromisoformat(body["acknowledge_by"]) == until
    told = acme.get(f"/applications/{offered.id}/timeline").json()["data"][-1]
    assert (told["event"], told["actor"]["kind"]) == ("DEADLINE_EXTENDED", "COMPANY")
    assert "The company gave the applicant more time" in told["sentence"]
    assert extend(acme, offered, until).status_code == 200  # repeating it is harmless
    assert factories.event_names(offered.job_id).count("DEADLINE_EXTENDED") == 1


def test_what_is_refused_has_a_name(acme: Caller, offered: Application) -> None:
    early, far = timedelta(hours=-1), timedelta(days=31)
    for more in (early, far):
        refused = extend(acme, offered, later(offered, more))
        assert code_of(refused) == (409, "NOT_EXTENDABLE")
    assert pointers(extend(acme, offered, "tomorrow")) == ["/acknowledge_by"]
    until = later(offered, timedelta(hours=1))
    let_time_pass(offered.job_id, factories.WINDOW)
    assert code_of(extend(acme, offered, until)) == (410, "ACKNOWLEDGMENT_EXPIRED")
    withdraw(application_id=offered.id, actor=factories.owner_of(offered))
    assert code_of(extend(acme, offered, until)) == (409, "INVALID_TRANSITION")


def test_the_public_facts_count_what_the_company_gave(acme: Caller, offered: Application) -> None:
    for _ in range(5):
        extend(acme, offered, later(offered, timedelta(minutes=1)))

    facts = Caller().get(f"/jobs/{offered.job_id}/facts").json()

    assert facts["extensions_count"] == 5


def test_a_company_reads_and_changes_how_long_its_decisions_wait(
    acme: Caller, settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = 300
    before = acme.get("/companies/me").json()

    changed = acme.patch("/companies/me", {"undo_removal_seconds": 900})

    names = ("undo_removal_seconds", "undo_hiring_seconds")
    assert [before[name] for name in names] == [300, 300]
    assert [changed.json()[name] for name in names] == [900, 300]
    assert [acme.get("/companies/me").json()[name] for name in names] == [900, 300]
    again = acme.patch("/companies/me", {"undo_removal_seconds": None})
    assert [again.json()[name] for name in names] == [300, 300]
    assert acme.patch("/companies/me", {}).json() == again.json()


@pytest.mark.parametrize("seconds", [0, 9, 3_601, "soon"])
def test_a_time_out_of_range_is_refused(acme: Caller, seconds: Any) -> None:
    answer = acme.patch("/companies/me", {"undo_hiring_seconds": seconds})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/undo_hiring_seconds"]


def test_a_decision_that_waits_is_named_to_the_company_alone(
    acme: Caller, company: Company, settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = 300
    job = factories.job(company_id=company.id)
    person = factories.application(job, factories.applicant(name="Ana Li"))
    decision = made(job, "Ana Li")
    path = f"/applications/{person.id}"

    expanded = acme.get(path, {"expand": "decision_due_at"}).json()

    assert datetime.fromisoformat(expanded["decision_due_at"]) == decision.due_at
    assert (expanded["status"], expanded["decision"]) == ("ACTIVE", None)
    assert acme.get(path).json()["decision_due_at"] is None
    listed = acme.get(f"/jobs/{job}/applications", {"expand": "decision_due_at"}).json()["data"]
    assert [each["decision_due_at"] for each in listed] == [expanded["decision_due_at"]]
    own = signed_in(person.applicant).get(path, {"expand": "decision_due_at"}).json()
    assert own["decision_due_at"] is None


def test_a_decision_over_the_api_does_not_wait(
    acme: Caller, company: Company, settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = 300
    person = factories.application(factories.job(company_id=company.id))

    answer = acme.post(f"/applications/{person.id}/remove", {"outcome": "REJECTED"})

    assert (answer.status_code, answer.json()["outcome"]) == (200, "REJECTED")
