"""Positions to fill and dates over the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, code_of, pointers

SOON = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
LATER = (datetime.now(UTC) + timedelta(days=9)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def change(caller: Caller, job: Any, **fields: Any) -> Any:
    etag = caller.get(f"/jobs/{job}").headers["ETag"]
    return caller.patch(f"/jobs/{job}", fields, if_match=etag)


def test_a_job_is_made_with_positions_and_dates_and_without_them_by_default(acme: Caller) -> None:
    plain = acme.post("/jobs", NEW_JOB).json()
    hiring = {"positions_to_fill": 2, "opens_at": SOON, "closes_at": LATER}
    made = acme.post("/jobs", NEW_JOB | {"status": "DRAFT"} | hiring).json()

    names = ("positions_to_fill", "hired_count", "opens_at", "closes_at")
    assert [plain[name] for name in names] == [None, 0, None, None]
    assert [made[name] for name in names] == [2, 0, SOON, LATER]


@pytest.mark.parametrize("positions", [0, 10_001, "two", 1.5, True])
def test_a_wrong_number_of_positions_is_named(acme: Caller, positions: Any) -> None:
    answer = acme.post("/jobs", NEW_JOB | {"positions_to_fill": positions})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/positions_to_fill"]


def test_positions_and_dates_are_changed_as_they_were_seen(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)

    blind = acme.patch(f"/jobs/{job}", {"closes_at": LATER})
    changed = change(acme, job, positions_to_fill=3, closes_at=LATER)
    cleared = change(acme, job, positions_to_fill=None, closes_at=None)

    assert code_of(blind) == (428, "PRECONDITION_REQUIRED")
    assert (changed.json()["positions_to_fill"], changed.json()["closes_at"]) == (3, LATER)
    assert (cleared.json()["positions_to_fill"], cleared.json()["closes_at"]) == (None, None)


def test_replay_has_the_positions_and_dates_of_each_moment(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    change(acme, job, positions_to_fill=3)
    person = factories.application(job)
    remove(application_id=person.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    change(acme, job, closes_at=LATER)
    names = ("positions_to_fill", "hired_count", "closes_at")

    def at(seq: int) -> list[Any]:
        line = acme.get(f"/jobs/{job}/replay", {"seq": seq}).json()
        return [line[name] for name in names]

    last = len(factories.event_names(job))
    assert [at(1), at(3), at(last - 1), at(last)] == [
        [None, None, None],
        [3, 0, None],
        [3, 1, None],
        [3, 1, LATER],
    ]


def test_dates_that_cannot_be_kept_are_refused(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)

    assert code_of(change(acme, job, closes_at="2020-01-01T00:00:00Z")) == (400, "INVALID_SCHEDULE")
    assert code_of(change(acme, job, opens_at=SOON)) == (409, "INVALID_TRANSITION")
    late = NEW_JOB | {"status": "DRAFT", "opens_at": LATER, "closes_at": SOON}
    assert code_of(acme.post("/jobs", late)) == (400, "INVALID_SCHEDULE")


def hire(caller: Caller, person: Any, **more: Any) -> Any:
    return caller.post(f"/applications/{person.id}/remove", {"outcome": "HIRED"} | more)


def test_the_last_position_needs_an_answer_and_then_closes_the_job(
    acme: Caller, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=3, hiring={"positions_to_fill": 2})
    first, second, third = factories.applications(job, 3)

    assert hire(acme, first).status_code == 200
    assert code_of(hire(acme, second)) == (409, "LAST_POSITION")
    assert hire(acme, second, close_job=True).status_code == 200
    assert code_of(hire(acme, third)) == (409, "POSITIONS_FILLED")

    now = acme.get(f"/jobs/{job}").json()
    assert (now["status"], now["hired_count"]) == ("CLOSED", 2)


def test_going_on_adds_a_position(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id, hiring={"positions_to_fill": 1})
    [person] = factories.applications(job, 1)

    assert hire(acme, person, close_job=False).status_code == 200

    now = acme.get(f"/jobs/{job}").json()
    assert (now["status"], now["positions_to_fill"], now["hired_count"]) == ("OPEN", 2, 1)


def test_close_job_belongs_to_hiring_alone(acme: Caller, company: Company) -> None:
    [person] = factories.applications(factories.job(company_id=company.id), 1)

    answer = acme.post(
        f"/applications/{person.id}/remove", {"outcome": "REJECTED", "close_job": True}
    )

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/close_job"]


def test_fewer_positions_than_hired_are_refused(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=2)
    for person in factories.applications(job, 2):
        hire(acme, person)

    answer = change(acme, job, positions_to_fill=1)

    assert code_of(answer) == (409, "POSITIONS_BELOW_HIRED")


def test_strangers_see_positions_and_no_count_of_an_open_ended_job(company: Company) -> None:
    stranger = Caller()
    told = factories.job(company_id=company.id, hiring={"positions_to_fill": 2})
    plain = factories.job(company_id=company.id)

    assert stranger.get(f"/jobs/{told}").json()["hired_count"] == 0
    assert stranger.get(f"/jobs/{plain}").json()["hired_count"] is None


def test_the_log_says_what_changed_in_a_sentence(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    change(acme, job, positions_to_fill=3)

    event = acme.get(f"/jobs/{job}/events?event=POSITIONS_CHANGED").json()["data"][0]

    assert event["data"]["positions_to_fill"] == 3
