"""Timelines for each reader."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from tests.api.test_log import EVENT_FIELDS
from tests.support import factories
from tests.support.callers import (
    Answer,
    Caller,
    code_of,
    key_of,
    leave,
    person,
    pointers,
    signed_in,
)
from tests.support.clock import let_time_pass


def names(answer: Answer) -> list[str]:
    return [event["event"] for event in answer.json()["data"]]


def page_by_page(caller: Caller, path: str, limit: int = 2) -> list[dict[str, Any]]:
    found, query = [], {"limit": str(limit)}
    while True:
        answer = caller.get(path, query).json()
        found += answer["data"]
        assert len(answer["data"]) <= limit
        if answer["next_cursor"] is None:
            return found
        query["cursor"] = answer["next_cursor"]


@pytest.fixture
def eventful(company: Company) -> tuple[UUID, Any]:
    """Someone who waited, was promoted, missed it, and was promoted again."""
    job = factories.job(company_id=company.id, penalty_places=2)
    first, second = factories.applications(job, 2)
    leave(first)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job, factories.COOLDOWN)
    factories.settle_all()
    return job, second


def test_an_application_tells_its_story_oldest_first(acme: Caller, eventful: Any) -> None:
    _job, application = eventful
    path = f"/applications/{application.id}/timeline"

    events = page_by_page(acme, path)

    assert [event["event"] for event in events] == ["APPLIED", "PROMOTED", "DECAYED", "PROMOTED"]
    assert all(list(event) == [*EVENT_FIELDS, "sentence"] for event in events)
    assert events == acme.get(path).json()["data"]
    assert {event["application_id"] for event in events} == {str(application.id)}


def test_the_same_story_speaks_to_each_reader(acme: Caller, eventful: Any) -> None:
    _job, application = eventful
    path = f"/applications/{application.id}/timeline"

    to_them = signed_in(application.applicant).get(path).json()["data"][2]["sentence"]
    to_company = acme.get(path).json()["data"][2]["sentence"]

    assert to_them.startswith("You missed the deadline of ")
    assert "behind everyone in line and the next 2 people to join" in to_them
    assert to_company.startswith("The applicant missed the deadline of ")


def test_a_story_names_nobody(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    zeb, _caller = person(name="Zebedee", email="zeb@example.org")
    application = factories.application(job, zeb)
    body = {"outcome": "REMOVED", "reason": "Zebedee never called zeb@example.org"}
    acme.post(f"/applications/{application.id}/remove", body)

    text = acme.get(f"/applicants/{zeb.id}/timeline").content.decode()

    assert "REMOVED" in text
    assert "Zebedee" not in text
    assert "zeb@" not in text


def test_a_person_sees_all_jobs_and_a_company_only_its_own(acme: Caller, company: Company) -> None:
    someone, caller = person()
    other = factories.company()
    mine, theirs = factories.job(company_id=company.id), factories.job(company_id=other.id)
    factories.application(theirs)
    for job in (mine, theirs):
        factories.application(job, someone)
    leave(factories.Application.objects.get(job_id=mine, applicant=someone))
    path = f"/applicants/{someone.id}/timeline"

    def jobs_of(who: Caller) -> list[str]:
        return [event["job_id"] for event in page_by_page(who, path, limit=1)]

    assert jobs_of(caller) == [str(mine), str(theirs), str(mine)]
    assert jobs_of(acme) == [str(mine)] * 2
    assert jobs_of(key_of(other.id)) == [str(theirs)]
    at = [event["at"] for event in caller.get(path).json()["data"]]
    assert at == sorted(at)


@pytest.mark.parametrize("cursor", ["x", "WzFd", "W10", "WyJ4IiwgIngiLCAxXQ"])
def test_a_cursor_of_another_list_is_refused(acme: Caller, eventful: Any, cursor: str) -> None:
    _job, application = eventful

    answer = acme.get(f"/applicants/{application.applicant_id}/timeline", {"cursor": cursor})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/cursor"]


def test_a_person_is_found_by_address_in_any_case(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    acme.post(f"/jobs/{job}/applications", {"name": "Ann", "email": "ann@example.org"})

    answer = acme.get("/applicants", {"email": " ANN@Example.org "})

    [found] = answer.json()["data"]
    assert answer.json()["next_cursor"] is None
    assert (found["name"], found["email"]) == ("Ann", "ann@example.org")


def test_a_person_of_another_company_is_not_found(acme: Caller, company: Company) -> None:
    elsewhere = factories.application(factories.job())
    unapplied = factories.applicant()

    for someone in (elsewhere.applicant, unapplied):
        answer = acme.get("/applicants", {"email": someone.email})
        assert answer.json() == {"data": [], "next_cursor": None}


@pytest.mark.parametrize("query", [{}, {"email": ""}, {"email": "x" * 255}, {"email": "a\x00b"}])
def test_an_address_must_be_given(acme: Caller, query: dict[str, str]) -> None:
    answer = acme.get("/applicants", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/email"]
