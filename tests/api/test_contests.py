"""Asking a company to look again, over the API: asked by the person, answered by the company."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.models import Application, Event
from pipeline.services.leaving import remove
from tests.api.test_portal_tokens import portal
from tests.support import factories
from tests.support.callers import Answer, Caller, code_of, key_of, pointers, signed_in
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400
CHANGED = {"answer": "CHANGED", "reason": "NEW_INFORMATION", "text": "You are right. Sorry!"}
STANDS = {"answer": "UPHELD", "reason": "DECISION_STANDS"}


@pytest.fixture
def rejected(company: Company) -> Application:
    """The first of two who waited for the only seat."""
    job_id = factories.job(company_id=company.id)
    _seated, first, _second = factories.applications(job_id, 3)
    remove(application_id=first.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return first


def ask(application: Application, text: str = "I have it.", caller: Caller | None = None) -> Answer:
    caller = caller or signed_in(application.applicant)
    return caller.post(f"/applications/{application.id}/contests", {"text": text})


def answer(caller: Caller, asked: dict[str, Any], body: dict[str, Any]) -> Answer:
    path = f"/applications/{asked['application_id']}/contests/{asked['id']}/answer"
    return caller.post(path, body)


def test_a_person_asks_and_reads_until_when_the_answer_comes(rejected: Application) -> None:
    made = ask(rejected, "I have the certificate.\r\nSee page 2.")

    asked = made.json()
    assert made.status_code == 201
    assert asked["text"] == "I have the certificate.\nSee page 2."
    assert (asked["answer"], asked["answered_at"], asked["is_overdue"]) == (None, None, False)
    assert asked["answer_by"][:10] > asked["server_time"][:10]
    listed = signed_in(rejected.applicant).get(f"/applications/{rejected.id}/contests").json()
    assert [each["id"] for each in listed["data"]] == [asked["id"]]


def test_a_change_puts_the_person_back_at_once(acme: Caller, rejected: Application) -> None:
    asked = ask(rejected).json()

    done = answer(acme, asked, CHANGED)

    assert (done.status_code, done.json()["answer_text"]) == (200, "You are right. Sorry!")
    seen = acme.get(f"/applications/{rejected.id}").json()
    assert (seen["status"], seen["outcome"], seen["position"]) == ("WAITLIST", None, 1)
    *_, said, back = acme.get(f"/applications/{rejected.id}/timeline").json()["data"]
    assert [said["event"], back["event"]] == ["CONTEST_ANSWERED", "REINSTATED"]
    assert back["data"]["answer_seq"] == said["seq"]
    assert_line_is_sound(rejected.job_id)


def test_the_company_lists_what_it_has_to_answer(acme: Caller, rejected: Application) -> None:
    late = factories.application(rejected.job_id)
    remove(application_id=late.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    first = ask(late).json()
    let_time_pass(rejected.job_id, 15 * DAY)
    second = ask(rejected).json()

    def listed(query: str) -> list[str]:
        return [each["id"] for each in acme.get(f"/contests{query}").json()["data"]]

    assert listed("") == listed("?state=OPEN") == [second["id"], first["id"]]
    assert listed("?state=OVERDUE") == [first["id"]]
    answer(acme, first, STANDS)
    assert listed("?state=ANSWERED") == [first["id"]]
    page = acme.get("/contests?limit=1").json()
    rest = acme.get(f"/contests?limit=1&cursor={page['next_cursor']}").json()
    assert [each["id"] for each in (*page["data"], *rest["data"])] == [second["id"], first["id"]]


def test_another_company_sees_nothing_of_it(rejected: Application) -> None:
    asked, other = ask(rejected).json(), key_of(factories.company().id)

    assert other.get("/contests").json()["data"] == []
    assert other.get(f"/applications/{rejected.id}/contests").status_code == 404
    assert answer(other, asked, STANDS).status_code == 404
    assert "CONTEST_ANSWERED" not in factories.event_names(rejected.job_id)


def test_it_is_answered_under_its_own_application(acme: Caller, rejected: Application) -> None:
    asked = ask(rejected).json()
    elsewhere = factories.application(rejected.job_id)

    assert answer(acme, asked | {"application_id": elsewhere.id}, STANDS).status_code == 404


def test_each_refusal_has_a_name(acme: Caller, rejected: Application) -> None:
    waits = factories.application(rejected.job_id)
    late = factories.application(factories.job())
    remove(application_id=late.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    let_time_pass(late.job_id, 30 * DAY)
    asked = ask(rejected).json()

    assert code_of(ask(waits)) == (409, "NOT_CONTESTABLE")
    assert code_of(ask(late)) == (409, "CONTEST_TOO_LATE")
    assert code_of(ask(rejected)) == (409, "ALREADY_CONTESTED")
    answer(acme, asked, STANDS)
    assert code_of(answer(acme, asked, CHANGED)) == (409, "CONTEST_ANSWERED")


@pytest.mark.parametrize("text", ["", "  ", "\x07", "\u2028", "x" * 2_001, "שּׁ" * 2_000])
def test_a_text_is_plain_and_not_too_long(rejected: Application, text: str) -> None:
    refused = ask(rejected, text)

    assert (code_of(refused), pointers(refused)) == ((400, "VALIDATION_ERROR"), ["/text"])
    assert "CONTESTED" not in factories.event_names(rejected.job_id)


def test_a_reason_fits_the_answer(acme: Caller, rejected: Application) -> None:
    refused = answer(acme, ask(rejected).json(), STANDS | {"reason": "OUR_ERROR"})

    assert (code_of(refused), pointers(refused)) == ((400, "VALIDATION_ERROR"), ["/reason"])


def test_a_portal_asks_for_its_person(company: Company, rejected: Application) -> None:
    key = key_of(company.id)
    made = ask(rejected, caller=portal(key, rejected.applicant_id))

    assert made.status_code == 201
    event = Event.objects.get(application_id=rejected.id, event="CONTESTED")
    assert event.data["via_key"]
    assert_line_is_sound(rejected.job_id)


def test_the_text_is_in_no_log(acme: Caller, rejected: Application) -> None:
    asked = ask(rejected, "My doctor says so.").json()
    answer(acme, asked, CHANGED)

    log = acme.get(f"/jobs/{rejected.job_id}/events").content.decode()
    assert "doctor" not in log
    assert "Sorry" not in log
