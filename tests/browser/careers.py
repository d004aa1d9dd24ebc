"""A company with a careers page. Its jobs are not on the list of the site."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from uuid_utils.compat import uuid7

from jobs.models import JobPosting
from pipeline.careers.pages import save_page
from tests.support import factories

SLUG = "harbour-yard"
INTRODUCTION = "We build **wooden boats**.\n\n- Calm days\n- Small crews"


@dataclass(frozen=True)
class Careers:
    """The name of the page, and a job on it."""

    slug: str
    job: UUID


def make_careers() -> Careers:
    """Publish the page, with two jobs."""
    company = factories.company(name="Harbour Yard")
    page = {"introduction": INTRODUCTION, "colour": "ffe000", "is_on_site_list": False}
    save_page(company_id=company.id, slug=SLUG, values=page, by=uuid7())
    jobs = [factories.job(company_id=company.id, capacity=seats) for seats in (2, 3)]
    for job, title, location in zip(jobs, ("Rigger", "Shipwright"), ("Loft", "Yard"), strict=True):
        JobPosting.objects.filter(job_id=job).update(title=title, location=location)
    JobPosting.objects.filter(job_id=jobs[1]).update(
        employment_type="FULL_TIME",
        workplace="ON_SITE",
        country="NL",
        department="Yard",
        pay_minimum=Decimal(3_100),
        pay_maximum=Decimal(3_900),
        pay_currency="EUR",
        pay_period="MONTH",
    )
    return Careers(SLUG, jobs[1])
