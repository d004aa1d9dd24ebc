"""How many statements each request costs: pinned, so that none creeps in."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application
from pipeline.selectors.applications import queue_of
from tests import make
from tests.api.caller import Caller, person, signed_in

PEOPLE = 7


@pytest.fixture
def names(company: Company) -> dict[str, Any]:
    """A job with people, one of them seated, and ids to put into paths."""
    job = make.job(company_id=company.id)
    first, *_rest = make.applications(job, PEOPLE)
    return {"job": job, "application": first.id, "applicant": first.applicant_id}


BEGIN_AND_COMMIT = 2
SNAPSHOT = BEGIN_AND_COMMIT + 1


@pytest.mark.parametrize(
    ("path", "queries"),
    [
        ("/jobs", 1 + 1),
        ("/jobs/{job}", 1 + 1),
        ("/jobs/{job}/pipeline", 2 + SNAPSHOT + 4),
        ("/jobs/{job}/queue", 2 + 1),
        ("/jobs/{job}/events", 2 + 1),
        ("/applications/{application}", 1 + 1),
        ("/applicants/{applicant}", 1 + 1),
        ("/applicants/{applicant}/applications", 1 + 2),
        ("/companies/me", 1 + 1),
    ],
)
def test_a_read_costs_so_many_statements(
    acme: Caller,
    names: dict[str, Any],
    django_assert_num_queries: Any,
    path: str,
    queries: int,
) -> None:
    with django_assert_num_queries(queries):
        answer = acme.get(path.format(**names))

    assert answer.status_code == 200


def test_a_submission_of_a_known_person_costs_eight_statements(
    acme: Caller, company: Company, django_assert_num_queries: Any
) -> None:
    job, applicant = make.job(company_id=company.id), make.applicant()
    body = {"name": "Ann", "email": applicant.email}

    with django_assert_num_queries(8):  # key, job, person, (BEGIN, lock, write, COMMIT), standing
        answer = acme.post(f"/jobs/{job}/applications", body)

    assert answer.status_code == 201


def test_applying_costs_eight_statements(company: Company, django_assert_num_queries: Any) -> None:
    job = make.job(company_id=company.id)
    _applicant, caller = person()

    with django_assert_num_queries(8):
        answer = caller.post(f"/jobs/{job}/applications", {})

    assert answer.status_code == 201


def test_withdrawing_with_a_promotion_costs_eight_statements(
    names: dict[str, Any], company: Company, django_assert_num_queries: Any
) -> None:
    seated = Application.objects.get(id=names["application"])
    caller = signed_in(seated.applicant)

    with django_assert_num_queries(8):  # token, application, (five of the service), standing
        answer = caller.post(f"/applications/{seated.id}/withdraw")

    assert answer.status_code == 200


def test_an_unknown_credential_costs_one_statement(
    names: dict[str, Any], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        Caller("nilk_unknown").get("/jobs")
    with django_assert_num_queries(0):
        Caller("x").get("/jobs")
    with django_assert_num_queries(0):
        Caller().get("/jobs/{job}/queue".format(**names))


def test_a_page_of_the_queue_is_one_statement_anywhere_in_the_line(
    names: dict[str, Any], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        first = queue_of(names["job"], limit=4)
    last = first.rows[-1].application
    assert last.ticket is not None
    assert last.tie is not None
    with django_assert_num_queries(1):
        second = queue_of(names["job"], after=(last.ticket, last.tie), limit=4)

    assert [seen.position for seen in first.rows + second.rows] == list(range(1, PEOPLE))
    assert (first.more, second.more) == (True, False)
