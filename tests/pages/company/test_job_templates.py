"""Templates for new jobs: kept, used, renamed and deleted, each by those who may."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Job, JobPosting
from pipeline.models import JobTemplate
from pipeline.services import job_templates
from pipeline.services.job_templates import MOST_TEMPLATES, TemplateRefused, keep_template
from tests.support import factories
from tests.support.pages import follow, page_of, text_of
from tests.support.together import kinds, together

LIST = "/company/job-templates/"


@pytest.fixture
def night(company: Company) -> JobTemplate:
    """A template of a job with rules of its own."""
    job = factories.job(company_id=company.id, capacity=4, penalty_places=7, max_decays=None)
    JobPosting.objects.filter(job_id=job).update(
        title="Night nurse", location="Lisbon", description="Nights.\nCalm ones."
    )
    return keep_template(job=_job(job), name="Night shift")


def _job(job_id: UUID) -> Job:
    return Job.objects.select_related("posting").get(id=job_id)


def _name_error(page: str) -> str:
    assert '<a href="#id_name">Name: ' in page
    return re.sub("<[^>]+>", " ", page.split('id="id_name_error"')[1].split("</p>")[0])


def test_a_job_is_kept_and_a_new_one_starts_like_it(
    recruiter: Client, company: Company, job: UUID
) -> None:
    factories.alter(job, capacity=3)
    page = follow(recruiter, f"/company/jobs/{job}/keep-template/", {"name": " Two  words "})
    kept = JobTemplate.objects.get(company=company)

    form = recruiter.get(f"/company/jobs/new/?template={kept.id}").context["form"]

    assert "“Two words” is saved as a template" in page
    assert (kept.name, kept.capacity, kept.policy) == ("Two words", 3, _job(job).policy)
    assert form.initial["title"] == _job(job).posting.title
    assert form.initial["capacity"] == 3


def test_a_template_brings_all_its_rules_along(recruiter: Client, night: JobTemplate) -> None:
    initial = recruiter.get(f"/company/jobs/new/?template={night.id}").context["form"].initial

    assert (initial["title"], initial["location"]) == ("Night nurse", "Lisbon")
    assert initial["description"] == "Nights.\nCalm ones."
    assert (initial["capacity"], initial["penalty_places"]) == (4, 7)
    assert initial["max_decays"] is None


def test_a_rule_that_is_newer_than_a_template_has_its_default(night: JobTemplate) -> None:
    del night.rules["cooldown_seconds"]

    assert night.policy.cooldown_seconds == 3_600
    assert night.policy.penalty_places == 7


def test_a_template_outlives_the_changes_of_its_job(
    recruiter: Client, job: UUID, company: Company
) -> None:
    kept = keep_template(job=_job(job), name="Before")
    JobPosting.objects.filter(job_id=job).update(title="After")

    assert JobTemplate.objects.get(id=kept.id).title != "After"


def test_a_name_is_taken_in_any_case_and_only_by_the_same_company(
    recruiter: Client, job: UUID, night: JobTemplate
) -> None:
    elsewhere = factories.job()
    keep_template(job=_job(elsewhere), name="Day shift")

    answer = recruiter.post(f"/company/jobs/{job}/keep-template/", {"name": "night SHIFT"})
    other = recruiter.post(f"/company/jobs/{job}/keep-template/", {"name": "Day shift"})

    assert answer.status_code == 422
    assert "already has a template “night SHIFT”" in _name_error(answer.content.decode())
    assert other.status_code == 302


def test_a_template_is_renamed_also_to_its_own_name_in_another_case(
    recruiter: Client, job: UUID, night: JobTemplate
) -> None:
    keep_template(job=_job(job), name="Day shift")

    taken = recruiter.post(f"{LIST}{night.id}/", {"name": "Day shift"})
    page = follow(recruiter, f"{LIST}{night.id}/", {"name": "NIGHT shift"})

    assert taken.status_code == 422
    assert "Name saved." in page
    assert JobTemplate.objects.get(id=night.id).name == "NIGHT shift"


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "a\nb"])
def test_a_bad_name_is_refused_beside_its_field(recruiter: Client, job: UUID, name: str) -> None:
    answer = recruiter.post(f"/company/jobs/{job}/keep-template/", {"name": name})

    assert answer.status_code == 422
    assert answer.context["form"].errors["name"]
    assert not JobTemplate.objects.exists()


def test_a_company_has_so_many_templates_and_no_more(
    recruiter: Client, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_TEMPLATES == 50
    monkeypatch.setattr(job_templates, "MOST_TEMPLATES", 1)
    keep_template(job=_job(job), name="One")

    answer = recruiter.post(f"/company/jobs/{job}/keep-template/", {"name": "Two"})

    assert "Delete one that is not needed" in _name_error(answer.content.decode())


def test_a_template_is_deleted_after_a_question(recruiter: Client, night: JobTemplate) -> None:
    asked = text_of(recruiter.get(f"{LIST}{night.id}/delete/"))
    page = follow(recruiter, f"{LIST}{night.id}/delete/", {})

    assert "Delete this template?" in asked
    assert "No templates yet" in page
    assert recruiter.get(f"{LIST}{night.id}/").status_code == 404
    assert recruiter.get(f"/company/jobs/new/?template={night.id}").status_code == 404


def test_the_list_and_the_form_for_a_new_job_name_the_templates(
    recruiter: Client, night: JobTemplate
) -> None:
    for path in (LIST, "/company/jobs/new/"):
        page = page_of(recruiter, path)
        assert "Night shift" in page
        assert f"/company/jobs/new/?template={night.id}" in page


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_others_cannot_read_or_change_templates(
    request: pytest.FixtureRequest, who: str, job: UUID, night: JobTemplate
) -> None:
    client: Client = request.getfixturevalue(who)
    status = {"viewer": 403, "stranger": 404}[who]

    for path in (
        f"{LIST}{night.id}/",
        f"{LIST}{night.id}/delete/",
        f"/company/jobs/{job}/keep-template/",
        f"/company/jobs/new/?template={night.id}",
    ):
        assert client.get(path).status_code == status, path
        if "?" not in path:
            assert client.post(path, {"name": "Mine"}).status_code == status, path
    assert [row.name for row in JobTemplate.objects.all()] == ["Night shift"]


@pytest.mark.django_db(transaction=True)
def test_a_name_is_given_once_however_many_ask_at_the_same_time() -> None:
    job = _job(factories.job())
    keep: Any = partial(keep_template, job=job, name="Same")

    answers = together([keep] * 6)

    assert kinds(answers) == ["JobTemplate"] + [TemplateRefused.__name__] * 5
