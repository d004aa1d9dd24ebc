"""The ledger of idle seats by the API."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from tests.support.callers import Caller, code_of
from tests.support.weeks import DAY, two_weeks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    """A job in which a day of a seat was lost to a person who did not answer."""
    return two_weeks(company)


def test_a_job_s_weeks_add_up_to_its_whole_ledger(acme: Caller, job: UUID) -> None:
    found = acme.get(f"/jobs/{job}/idle-seats?weeks=4&zone=Europe/Paris").json()

    assert (len(found["weeks"]), found["zone"], found["is_cut"]) == (4, "Europe/Paris", False)
    assert found["seat_seconds"]["missed"] == pytest.approx(DAY, abs=5)
    for part, seconds in found["seat_seconds"].items():
        by_week = sum(week["seat_seconds"][part] for week in found["weeks"])
        assert by_week == pytest.approx(seconds)


def test_a_company_s_ledger_names_the_part_of_each_job(
    acme: Caller, other: Caller, job: UUID
) -> None:
    found = acme.get("/companies/me/idle-seats").json()

    assert [row["job_id"] for row in found["jobs"]] == [str(job)]
    assert found["jobs"][0]["seat_seconds"] == found["seat_seconds"]
    assert other.get("/companies/me/idle-seats").json()["jobs"] == []


def test_another_company_s_job_does_not_exist(other: Caller, job: UUID) -> None:
    assert code_of(other.get(f"/jobs/{job}/idle-seats")) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("query", "wrong"), [("weeks=0", "weeks"), ("weeks=27", "weeks"), ("zone=Mars/Base", "zone")]
)
def test_wrong_parameters_are_refused_by_name(
    acme: Caller, job: UUID, query: str, wrong: str
) -> None:
    answer = acme.get(f"/jobs/{job}/idle-seats?{query}")

    assert answer.status_code == 400
    assert wrong in str(answer.json())
