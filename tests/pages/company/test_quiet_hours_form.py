"""Quiet hours on the pages of a job: entered, refused, copied and shown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Job
from pipeline.models import JobTemplate
from tests.support import factories
from tests.support.pages import page_of

RULES = {
    "window": 1,
    "window_unit": "days",
    "penalty_places": 1,
    "max_decays": 3,
    "cooldown": 1,
    "cooldown_unit": "hours",
    "max_passes": "1",
}
NEW = {"title": "Sailmaker", "location": "Loft", "capacity": 4, "start": "OPEN", **RULES}
QUIET = {
    "quiet_from": "22:00",
    "quiet_to": "08:00",
    "quiet_weekends": "on",
    "quiet_time_zone": "Europe/Berlin",
}
STORED = ("22:00", "08:00", True, "Europe/Berlin")


def stored(job: Job) -> tuple[Any, ...]:
    job.refresh_from_db()
    return (job.quiet_from, job.quiet_to, job.quiet_weekends, job.quiet_time_zone)


def a_quiet_job(company: Company) -> Job:
    quiet: dict[str, Any] = QUIET | {"quiet_weekends": True}
    return Job.objects.get(id=factories.job(company_id=company.id, **quiet))


def test_a_new_job_takes_quiet_hours(recruiter: Client, company: Company) -> None:
    recruiter.post("/company/jobs/new/", NEW | QUIET)

    assert stored(Job.objects.get(company=company)) == STORED


def test_an_empty_form_means_no_quiet_hours(recruiter: Client, company: Company) -> None:
    recruiter.post("/company/jobs/new/", NEW)

    assert stored(Job.objects.get(company=company)) == (None, None, False, "UTC")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quiet_to": ""}, "Give both the beginning and the end"),
        ({"quiet_from": ""}, "Give both the beginning and the end"),
        ({"quiet_to": "22:00"}, "Leave at least 4 hours of each day"),
        ({"quiet_to": "19:00"}, "Leave at least 4 hours of each day"),
        ({"quiet_from": "25:00"}, "Enter a time, like 22:00."),
        ({"quiet_time_zone": "Berlin"}, "Enter a time zone, like Europe/Berlin."),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    recruiter: Client, company: Company, wrong: dict[str, str], message: str
) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | QUIET | wrong)

    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert not Job.objects.filter(company=company).exists()


def test_the_settings_show_and_keep_them_and_a_copy_has_them(
    owner: Client, company: Company
) -> None:
    job = a_quiet_job(company)

    settings = page_of(owner, f"/company/jobs/{job.id}/settings/")
    copy = page_of(owner, f"/company/jobs/new/?like={job.id}")

    for page in (settings, copy):
        values = dict(re.findall(r'name="(quiet_\w+)" value="([^"]*)"', page))
        assert values | {"quiet_weekends": "on"} == QUIET
        assert re.search(r'name="quiet_weekends"[^>]* checked', page)


def test_a_template_keeps_them(owner: Client, company: Company) -> None:
    job = a_quiet_job(company)

    owner.post(f"/company/jobs/{job.id}/keep-template/", {"name": "Night workers"})

    kept = JobTemplate.objects.get(company=company)
    page = page_of(owner, f"/company/jobs/new/?template={kept.id}")
    assert kept.policy == job.policy
    assert 'value="Europe/Berlin"' in page


def test_they_can_be_switched_off_again(owner: Client, company: Company) -> None:
    job = a_quiet_job(company)
    page = page_of(owner, f"/company/jobs/{job.id}/settings/")
    seen = {
        f"seen_{name}": re.findall(rf'name="seen_{name}" value="(\d+)"', page)[0]
        for name in ("posting", "policy")
    }

    owner.post(f"/company/jobs/{job.id}/settings/", NEW | seen)

    assert stored(job) == (None, None, False, "UTC")


def test_a_viewer_reads_them(viewer: Client, company: Company) -> None:
    job = a_quiet_job(company)

    page = page_of(viewer, f"/company/jobs/{job.id}/settings/")

    assert "from 22:00 to 08:00 or at weekends" in page


def test_everybody_reads_them_on_the_jobs_own_page(client: Client, company: Company) -> None:
    job = a_quiet_job(company)

    page = page_of(client, f"/jobs/{job.id}/")

    assert (
        "Confirm within 10 minutes and the seat is yours. That time does not run from 22:00 to"
        " 08:00 your time or at weekends."
    ) in page
