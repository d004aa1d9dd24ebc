"""Templates of a company's jobs: each name once, and no more than a company can have."""

from __future__ import annotations

import pytest

from jobs.models import Job
from pipeline.models import JobTemplate
from pipeline.services import job_templates
from pipeline.services.job_templates import (
    TemplateRefused,
    delete_template,
    keep_template,
    rename_template,
)
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def a_job() -> Job:
    return Job.objects.select_related("posting").get(id=factories.job(capacity=3))


def test_a_template_has_the_settings_of_its_job() -> None:
    job = a_job()

    kept = keep_template(job=job, name=" Two  words ")

    assert (kept.name, kept.title, kept.capacity) == ("Two words", "Engineer", 3)
    assert kept.policy == job.policy


def test_a_name_is_taken_in_capitals_too_but_stays_free_for_its_own_template() -> None:
    job = a_job()
    night, day = (keep_template(job=job, name=name) for name in ("Night", "Day"))

    rename_template(template=night, name="NIGHT")
    with pytest.raises(TemplateRefused, match="“night”"):
        rename_template(template=day, name="night")
    with pytest.raises(TemplateRefused):
        keep_template(job=job, name="day")

    names = JobTemplate.objects.order_by("name").values_list("name", flat=True)
    assert list(names) == ["Day", "NIGHT"]


def test_another_company_may_use_the_same_name() -> None:
    assert keep_template(job=a_job(), name="Night").name == "Night"
    assert keep_template(job=a_job(), name="Night").name == "Night"


def test_a_company_has_so_many_templates_and_another_one_fits_after_a_deletion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_templates, "MOST_TEMPLATES", 2)
    job = a_job()
    first, _second = (keep_template(job=job, name=name) for name in "AB")

    with pytest.raises(TemplateRefused, match="2 templates"):
        keep_template(job=job, name="C")
    delete_template(template=first)

    assert keep_template(job=job, name="C").name == "C"
