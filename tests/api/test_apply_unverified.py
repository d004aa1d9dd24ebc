"""Applying without a credential: the answer reveals nothing; the email informs the person."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.core import mail

from applicants import codes
from applicants.models import Applicant, SignInCode
from jobs.models import Company
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.callers import (
    UNKNOWN_ID,
    Answer,
    Caller,
    code_of,
    person,
    pointers,
    signed_in,
)
from tests.support.invariants import assert_line_is_sound
from tests.support.outbox import code_to
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

ANN = {"name": "Ann", "email": "ann@example.org"}


@pytest.fixture
def job_id(company: Company) -> UUID:
    """A job with one seat."""
    return factories.job(company_id=company.id)


@pytest.fixture
def path(job_id: UUID) -> str:
    """URL for applying to the job."""
    return f"/jobs/{job_id}/applications"


def sign_in(nobody: Caller, email: str = ANN["email"]) -> Caller:
    body = {"email": email, "code": code_to(email)}
    return Caller(nobody.post("/auth/token", body).json()["token"])


def test_a_free_seat_is_offered_and_taken_once_the_address_is_proved(
    nobody: Caller, acme: Caller, path: str
) -> None:
    answer = nobody.post(path, ANN)

    assert answer.status_code == 202
    assert list(answer.json()) == ["detail"]
    row = Application.objects.get()
    assert (row.status, row.name) == ("WAITLIST", "Ann")
    shown = acme.get(f"/applications/{row.id}").json()
    assert (shown["verified"], shown["position"], shown["people_waiting"]) == (False, None, 0)
    ann = sign_in(nobody)
    shown = ann.get(f"/applications/{row.id}").json()
    assert (shown["verified"], shown["status"]) == (True, "PENDING_ACKNOWLEDGMENT")
    taken = ann.post(f"/applications/{row.id}/acknowledge")
    assert (taken.status_code, taken.json()["status"]) == (200, "ACTIVE")


def test_the_log_names_the_applicant(nobody: Caller, path: str) -> None:
    nobody.post(path, ANN)

    event = Event.objects.get(event="APPLIED")
    applicant = Applicant.objects.get()
    assert (event.actor_kind, event.actor_id) == ("APPLICANT", applicant.id)
    assert applicant.name == ""


def test_new_known_applied_and_decided_get_byte_for_byte_the_same_answer(
    nobody: Caller, acme: Caller, path: str
) -> None:
    factories.applicant(email="known@example.org")
    acme.post(path, ANN)
    decided = acme.post(path, {"name": "Bo", "email": "bo@example.org"}).json()["id"]
    acme.post(f"/applications/{decided}/remove", {"outcome": "REJECTED"})
    addresses = ["new@example.org", "known@example.org", ANN["email"], "bo@example.org"]

    answers = [nobody.post(path, {"name": "Someone", "email": each}) for each in addresses]

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    variable = {"X-Request-ID", "RateLimit"}
    headers = [sorted((k, v) for k, v in a.headers.items() if k not in variable) for a in answers]
    assert all(each == headers[0] for each in headers)
    assert Application.objects.count() == 4


def test_the_mail_says_what_the_answer_does_not(nobody: Caller, acme: Caller, path: str) -> None:
    nobody.post(path, ANN)
    nobody.post(path, ANN | {"name": "Eve"})
    row = Application.objects.get()
    sign_in(nobody)
    acme.post(f"/applications/{row.id}/remove", {"outcome": "REJECTED"})
    nobody.post(path, ANN)

    new, live, decided = [str(message.body) for message in mail.outbox]
    assert "Thank you for applying for “Engineer”" in new
    assert "You have already applied for “Engineer”" in live
    assert "The company has already decided" in decided
    assert "Eve" not in live
    assert factories.fresh(row).name == "Ann"


def test_two_at_once_leave_one_live_application_and_are_answered_alike(
    nobody: Caller, path: str, job_id: UUID
) -> None:
    answers = together([partial(Caller().post, path, ANN) for _ in range(4)])

    assert [answer.status_code for answer in answers] == [202] * 4
    assert len({answer.content for answer in answers}) == 1
    assert (Applicant.objects.count(), Application.objects.count()) == (1, 1)
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("verb", ["pause", "close"])
def test_a_job_that_is_not_open_is_said_to_be_so_and_nothing_is_kept(
    nobody: Caller, acme: Caller, job_id: UUID, path: str, verb: str
) -> None:
    acme.post(f"/jobs/{job_id}/{verb}")

    assert code_of(nobody.post(path, ANN)) == (409, "JOB_NOT_OPEN")
    assert not Applicant.objects.exists()
    assert not SignInCode.objects.exists()


def test_a_draft_is_not_there(nobody: Caller, company: Company) -> None:
    draft = factories.job(company_id=company.id, open_now=False)

    for name in (draft, UNKNOWN_ID):
        assert code_of(nobody.post(f"/jobs/{name}/applications", ANN)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": "Ann"}, "/email"),
        ({"email": "ann@example.org"}, "/name"),
        (ANN | {"email": "ann"}, "/email"),
        (ANN | {"name": "a\x07b"}, "/name"),
        (ANN | {"applicant_id": UNKNOWN_ID}, "/applicant_id"),
    ],
)
def test_what_is_no_application_is_refused_by_name(
    nobody: Caller, path: str, body: dict[str, Any], pointer: str
) -> None:
    answer = nobody.post(path, body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointer in pointers(answer)
    assert not Applicant.objects.exists()


def test_an_address_that_got_all_its_codes_still_has_its_application(
    nobody: Caller, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "MOST_CODES", 5)
    for _ in range(5):
        nobody.post("/auth/code", {"email": ANN["email"]})

    assert nobody.post(path, ANN).status_code == 202

    assert len(mail.outbox) == 5
    assert Application.objects.count() == 1


def test_the_public_cannot_learn_whether_somebody_has_applied(
    nobody: Caller, acme: Caller, job_id: UUID, path: str
) -> None:
    """Finding out by a counter: an address that had applied moved nothing, a new one did."""
    factories.application(job_id)
    stranger = person()[1]
    where = [(caller, f"/jobs/{job_id}") for caller in (nobody, stranger)]
    where += [(nobody, "/jobs")]
    before = [(answer.json(), answer.headers.get("ETag")) for answer in _reads(where)]

    nobody.post(path, ANN)

    after = [(answer.json(), answer.headers.get("ETag")) for answer in _reads(where)]
    assert after == before
    assert before[0][0]["seq"] is None
    assert str(before[0][1]).startswith('W/"')
    own = acme.get(f"/jobs/{job_id}").json()
    assert (own["waitlist_count"], own["unverified_count"]) == (0, 1)
    assert own["seq"] == factories.row_of(job_id).seq


def _reads(where: list[tuple[Caller, str]]) -> list[Answer]:
    return [caller.get(path) for caller, path in where]


def test_the_person_takes_over_renames_and_withdraws(
    nobody: Caller, acme: Caller, path: str
) -> None:
    nobody.post(path, ANN | {"name": "Total Idiot"})
    row = Application.objects.get()
    her = signed_in(Applicant.objects.get())

    again = her.post(path, {"name": "Ann"})
    renamed = her.post(f"/applications/{row.id}/verify", {"name": "Ann Li"})

    assert (again.status_code, again.json()["id"]) == (201, str(row.id))
    assert (again.json()["verified"], again.json()["applicant"]["name"]) == (True, "Ann")
    assert renamed.json()["applicant"]["name"] == "Ann Li"
    assert acme.get(f"/applications/{row.id}").json()["applicant"]["name"] == "Ann Li"
    assert her.post(f"/applications/{row.id}/withdraw").json()["outcome"] == "WITHDRAWN"
    ended = her.post(f"/applications/{row.id}/verify", {"name": "Bo"})
    assert code_of(ended) == (409, "INVALID_TRANSITION")


def test_nobody_is_mailed_about_an_application_that_was_never_verified(
    nobody: Caller, acme: Caller, path: str
) -> None:
    nobody.post(path, ANN)
    row = Application.objects.get()
    sent = len(mail.outbox)

    acme.post(f"/applications/{row.id}/remove", {"outcome": "REJECTED"})
    run_due_tasks()

    assert len(mail.outbox) == sent
