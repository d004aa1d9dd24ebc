"""How often a company decides within its target: from the log, with those overdue, or nothing."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.cache import caches
from django.db.models import F
from django.test import Client

from jobs.models import Company, JobPosting
from pipeline.domain.states import Outcome
from pipeline.figures.review_pace import FEWEST_CASES, read_review_pace
from pipeline.models import Application
from pipeline.selectors.jobs import read_job
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.callers import key_of

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 86_400


@pytest.fixture
def job(company: Company) -> UUID:
    """Return a job with the target of a day and ten decisions, all at once."""
    job = factories.job(company_id=company.id, capacity=20)
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=DAY)
    for person in factories.applications(job, FEWEST_CASES):
        remove(application_id=person.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return job


def pace(job: UUID) -> tuple[int, int] | None:
    caches["local"].clear()
    found = read_review_pace(read_job(job))
    return found and (found.within, found.cases)


def age(application: Application, days: float) -> None:
    row = Application.objects.filter(id=application.id)
    row.update(status_since=F("status_since") - timedelta(days=days))


def test_decisions_within_the_target_are_counted(job: UUID) -> None:
    assert pace(job) == (10, 10)


def test_reviews_that_are_overdue_count_as_late_and_those_that_still_run_do_not(job: UUID) -> None:
    late, _running = factories.applications(job, 2)
    age(late, 2)

    assert pace(job) == (10, 11)


def test_people_who_leave_are_no_decisions(job: UUID) -> None:
    [person] = factories.applications(job, 1)
    withdraw(application_id=person.id, actor=factories.owner_of(person))

    assert pace(job) == (10, 10)


def test_without_a_target_and_with_too_few_cases_nothing_is_said(
    company: Company, job: UUID
) -> None:
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=None)
    few = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=few).update(review_target_seconds=DAY)

    assert (pace(job), pace(few)) == (None, None)


def test_the_facts_say_it_to_everyone_with_the_evidence(
    company: Company, job: UUID, client: Client
) -> None:
    late, _ = factories.applications(job, 2)
    age(late, 2)
    caches["local"].clear()

    page = " ".join(client.get(f"/jobs/{job}/facts/").content.decode().split())
    facts = key_of(company.id).get(f"/jobs/{job}/facts").json()

    assert "Decided within 1 day in 9 of 10 cases." in page
    assert "10 of 11 since" in page
    assert (facts["reviews_counted"], facts["reviews_within_target"]) == (11, 10)


def test_with_too_few_cases_the_facts_say_only_the_aim(company: Company, client: Client) -> None:
    few = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=few).update(review_target_seconds=3 * DAY)
    hours = {"days": [0], "begins": 0, "ends": 600, "zone": "UTC"}
    Company.objects.filter(id=company.id).update(working_hours=hours)

    page = " ".join(client.get(f"/jobs/{few}/facts/").content.decode().split())

    assert "The company aims to decide within 3 working days." in page
    assert "too few decisions" in page
