"""The page that deletes a job that was never opened."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Company
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_recruiter_deletes_a_draft_on_its_page(recruiter: Client, company: Company) -> None:
    job_id = factories.job(company_id=company.id, open_now=False)
    here = f"/company/jobs/{job_id}/"
    assert f"{here}delete/" in recruiter.get(here).content.decode()
    assert "Delete this draft?" in recruiter.get(f"{here}delete/").content.decode()

    answer = recruiter.post(f"{here}delete/", follow=True)

    assert "The draft “Engineer” is deleted." in answer.content.decode()
    assert recruiter.get(here).status_code == 404


def test_the_page_of_an_open_job_refuses_it(recruiter: Client, company: Company) -> None:
    job_id = factories.job(company_id=company.id)
    here = f"/company/jobs/{job_id}/"

    assert f"{here}delete/" not in recruiter.get(here).content.decode()
    assert "cannot be deleted" in recruiter.get(f"{here}delete/").content.decode()
    recruiter.post(f"{here}delete/")

    assert recruiter.get(here).status_code == 200
