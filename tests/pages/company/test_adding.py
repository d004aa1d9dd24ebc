"""Putting someone into the line by the company itself."""

from __future__ import annotations

from uuid import UUID

from django.test import Client

from applicants.models import Applicant
from jobs.models import Company
from pipeline.domain.states import SYSTEM, Outcome
from pipeline.models import Application
from pipeline.services.jobs import pause_job
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.applicants import named
from tests.support.clock import let_time_pass
from tests.support.pages import follow, page_of


def test_a_person_is_added_with_a_proved_address(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/add/"
    given = {"name": "Fay Moreau", "email": "Fay@Example.org"}

    assert "Fay Moreau is now number 4 in line." in follow(recruiter, path, given)

    again = recruiter.post(path, given)
    assert again.status_code == 422
    assert "This person already has an application in this line." in again.content.decode()
    bad = recruiter.post(path, {"name": "A\nB", "email": "nobody"})
    assert bad.status_code == 422
    assert Application.objects.filter(job_id=job).count() == 6


def test_who_was_decided_on_here_before_is_added_after_one_question(
    recruiter: Client, job: UUID
) -> None:
    ana = named(job, "Ana Li")
    remove(application_id=ana.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    path = f"/company/jobs/{job}/add/"
    address = Applicant.objects.get(id=ana.applicant_id).email
    given = {"name": "Ana Li", "email": address.upper()}

    asked = follow(recruiter, path, given)

    assert "Ana Li was hired for this job on" in asked
    assert f'name="again" value="{ana.id}">Add again' in asked
    assert Application.objects.filter(job_id=job).count() == 5
    assert "Ana Li is now number" in follow(recruiter, path, given | {"again": str(ana.id)})


def test_adding_says_who_gets_a_free_seat(recruiter: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1, acknowledge_first_seat=True)
    path = f"/company/jobs/{job}/add/"

    assert "A seat is free. We offer it to this person" in page_of(recruiter, path)
    factories.application(job)
    assert "This person joins the back of the line" in page_of(recruiter, path)
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()
    assert "A seat is free, and nobody waiting can take it now" in page_of(recruiter, path)


def test_nobody_is_added_to_a_job_that_is_not_open(recruiter: Client, job: UUID) -> None:
    pause_job(job_id=job, actor=SYSTEM)
    given = {"name": "Fay Moreau", "email": "fay@example.org"}

    answer = recruiter.post(f"/company/jobs/{job}/add/", given)

    assert answer.status_code == 422
    assert "This job is not open" in answer.content.decode()
    assert not Applicant.objects.filter(email="fay@example.org").exists()
