"""One application over the API: acknowledging, withdrawing, deciding."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application, DecisionNote, Event
from tests.support import factories
from tests.support.callers import Caller, code_of, leave, pointers, signed_in
from tests.support.clock import let_time_pass


def test_an_offer_shows_its_deadline_to_the_person_and_to_the_company(
    acme: Caller, offered: Application
) -> None:
    own = signed_in(offered.applicant).get(f"/applications/{offered.id}").json()
    theirs = acme.get(f"/applications/{offered.id}").json()

    assert own["status"] == "PENDING_ACKNOWLEDGMENT"
    assert own["acknowledge_by"] > own["server_time"]
    assert (own["position"], own["eligible_at"]) == (None, None)
    assert own["people_waiting"] == 2
    assert own["decays_left"] == 3
    assert own | {"server_time": ""} == theirs | {
        "server_time": "",
        "metadata": None,
        "source": None,
    }


def test_acknowledging_takes_the_seat_and_once_more_is_harmless(offered: Application) -> None:
    caller = signed_in(offered.applicant)

    first = caller.post(f"/applications/{offered.id}/acknowledge")
    second = caller.post(f"/applications/{offered.id}/acknowledge")

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["status"] == "ACTIVE"
    assert first.json()["acknowledge_by"] is None
    assert first.json() | {"server_time": ""} == second.json() | {"server_time": ""}
    assert Event.objects.filter(event="ACKNOWLEDGED").count() == 1


def test_who_was_offered_nothing_cannot_acknowledge(company: Company) -> None:
    job = factories.job(company_id=company.id)
    _seated, waiting = factories.applications(job, 2)

    answer = signed_in(waiting.applicant).post(f"/applications/{waiting.id}/acknowledge")

    assert code_of(answer) == (409, "INVALID_TRANSITION")


def test_after_the_deadline_it_is_too_late_and_the_place_is_shown(offered: Application) -> None:
    caller = signed_in(offered.applicant)
    let_time_pass(offered.job_id, factories.WINDOW + 1)

    answers = [caller.post(f"/applications/{offered.id}/acknowledge") for _ in range(3)]
    body = caller.get(f"/applications/{offered.id}").json()

    assert {code_of(answer) for answer in answers} == {(410, "ACKNOWLEDGMENT_EXPIRED")}
    assert (body["status"], body["position"], body["people_waiting"]) == ("WAITLIST", 2, 2)
    assert (body["decay_count"], body["decays_left"]) == (1, 2)
    assert body["eligible_at"] > body["server_time"]
    assert Event.objects.filter(event="DECAYED").count() == 1


def test_the_end_of_a_cool_down_is_shown_only_while_it_lasts(offered: Application) -> None:
    caller = signed_in(offered.applicant)
    let_time_pass(offered.job_id, factories.WINDOW + 1)
    caller.post(f"/applications/{offered.id}/acknowledge")
    let_time_pass(offered.job_id, factories.COOLDOWN + 1)

    body = caller.get(f"/applications/{offered.id}").json()

    assert (body["status"], body["eligible_at"]) == ("WAITLIST", None)


def test_withdrawing_offers_the_seat_to_the_next_and_once_more_is_harmless(
    company: Company,
) -> None:
    job = factories.job(company_id=company.id)
    seated, waiting = factories.applications(job, 2)

    first, second = leave(seated), leave(seated)

    assert (first.status_code, second.status_code) == (200, 200)
    body = first.json()
    assert (body["status"], body["outcome"]) == ("INACTIVE", "WITHDRAWN")
    assert body["ended_at"] is not None
    assert body | {"server_time": ""} == second.json() | {"server_time": ""}
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"


def test_who_was_removed_cannot_withdraw(acme: Caller, offered: Application) -> None:
    acme.post(f"/applications/{offered.id}/remove", {"outcome": "REMOVED"})

    assert code_of(leave(offered)) == (409, "INVALID_TRANSITION")


@pytest.mark.parametrize("outcome", ["REMOVED", "REJECTED"])
def test_a_company_ends_an_application(acme: Caller, offered: Application, outcome: str) -> None:
    answer = acme.post(f"/applications/{offered.id}/remove", {"outcome": outcome})

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["outcome"]) == ("INACTIVE", outcome)
    again = acme.post(f"/applications/{offered.id}/remove", {"outcome": outcome})
    assert code_of(again) == (409, "INVALID_TRANSITION")


def test_only_who_is_active_can_be_hired(acme: Caller, offered: Application) -> None:
    early = acme.post(f"/applications/{offered.id}/remove", {"outcome": "HIRED"})
    signed_in(offered.applicant).post(f"/applications/{offered.id}/acknowledge")
    late = acme.post(f"/applications/{offered.id}/remove", {"outcome": "HIRED"})

    assert code_of(early) == (409, "INVALID_TRANSITION")
    assert (
        early.json()["detail"] == "An application that is PENDING_ACKNOWLEDGMENT cannot be hired."
    )
    assert late.json()["outcome"] == "HIRED"


@pytest.mark.parametrize(
    ("given", "code", "note"),
    [
        ({}, None, None),
        ({"reason": None, "reason_code": None}, None, None),
        ({"reason": ""}, None, None),
        ({"reason": "NOT_A_MATCH"}, "NOT_A_MATCH", None),
        ({"reason": "She was\nlate."}, None, "She was\nlate."),
        ({"reason_code": "OTHER"}, "OTHER", None),
        ({"reason_code": "OTHER", "reason": "x" * 1_000}, "OTHER", "x" * 1_000),
        ({"reason_code": "OTHER", "reason": "NOT_A_MATCH"}, "OTHER", "NOT_A_MATCH"),
    ],
)
def test_a_reasons_code_goes_into_the_log_and_its_text_beside_it(
    acme: Caller, offered: Application, given: dict[str, Any], code: str | None, note: str | None
) -> None:
    body = {"outcome": "REMOVED"} | given

    answer = acme.post(f"/applications/{offered.id}/remove", body)

    assert answer.status_code == 200
    event = Event.objects.get(event="REMOVED")
    assert event.data.get("reason") == code
    assert note is None or note not in str(event.data)
    assert DecisionNote.objects.values_list("text", flat=True).first() == note


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({}, "/outcome"),
        ({"outcome": "WITHDRAWN"}, "/outcome"),
        ({"outcome": "LAPSED"}, "/outcome"),
        ({"outcome": "hired"}, "/outcome"),
        ({"outcome": ["REMOVED"]}, "/outcome"),
        ({"outcome": "REMOVED", "reason": "x" * 1_001}, "/reason"),
        ({"outcome": "REMOVED", "reason": 5}, "/reason"),
        ({"outcome": "REMOVED", "reason_code": "BECAUSE"}, "/reason_code"),
        ({"outcome": "REMOVED", "note": "x" * 1_001}, "/note"),
        ({"outcome": "REMOVED", "text": "x" * 1_001}, "/text"),
        ({"outcome": "REMOVED", "text": "Dear {nme}"}, "/text"),
        ({"outcome": "HIRED", "text": "x"}, "/text"),
        ({"outcome": "REMOVED", "sentence": "x"}, "/sentence"),
    ],
)
def test_what_is_no_decision_is_refused_by_name(
    acme: Caller, offered: Application, given: dict[str, Any], pointer: str
) -> None:
    answer = acme.post(f"/applications/{offered.id}/remove", given)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]


def test_the_applicant_reads_the_text_of_a_decision_but_not_its_note(
    acme: Caller, offered: Application
) -> None:
    Application.objects.filter(id=offered.id).update(name="Ana Li")
    path = f"/applications/{offered.id}"
    body = {"outcome": "REJECTED", "note": "Was late.", "text": "Dear {name},\nwe chose another."}
    assert acme.post(f"{path}/remove", body).status_code == 200

    expanded = {"expand": "decision"}
    theirs = acme.get(path, expanded).json()["decision"]
    own = signed_in(offered.applicant).get(path, expanded).json()["decision"]

    text = "Dear Ana Li,\nwe chose another."
    assert (theirs["text"], theirs["note"]) == (text, "Was late.")
    assert (own["text"], own["note"]) == (text, None)


def test_acknowledging_and_withdrawing_take_no_fields(offered: Application) -> None:
    caller = signed_in(offered.applicant)

    for verb in ("acknowledge", "withdraw"):
        answer = caller.post(f"/applications/{offered.id}/{verb}", {"force": True})
        assert code_of(answer) == (400, "VALIDATION_ERROR")
        assert pointers(answer) == ["/force"]
