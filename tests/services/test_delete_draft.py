"""Deleting a job that was never opened."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Job, JobPosting
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import IllegalJobMove, JobNotFound
from pipeline.models import Event
from pipeline.selectors.jobs import read_company_jobs, read_job
from pipeline.selectors.system import read_logs
from pipeline.services.jobs import (
    JobChanges,
    close_job,
    delete_draft,
    open_job,
    pause_job,
    update_job,
)
from tests.support import factories
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)


def delete(job_id: UUID) -> None:
    delete_draft(job_id=job_id, actor=factories.RECRUITER)


def reopen(job_id: UUID) -> None:
    open_job(job_id=job_id, actor=factories.RECRUITER)


def test_nobody_finds_a_deleted_draft_and_its_log_still_verifies() -> None:
    job_id = factories.job(open_now=False)
    other = factories.job(company_id=factories.row_of(job_id).company_id, open_now=False)
    company_id = factories.row_of(job_id).company_id

    delete(job_id)

    with pytest.raises(JobNotFound):
        read_job(job_id)
    listed = read_company_jobs(company_id, status=None, search="", after=None, limit=10)
    assert [job.id for job in listed.rows] == [other]
    assert [job.id for job in read_logs(company_id, after=None, limit=10).rows] == [other]
    assert not JobPosting.objects.filter(job_id=job_id).exists()
    assert [each.event for each in Event.objects.filter(job_id=job_id)] == ["JOB_CREATED"]
    assert verify_job(job_id).is_sound
    assert Job.objects.filter(id=job_id).exists()


def test_a_deleted_draft_cannot_be_opened_changed_or_deleted_again() -> None:
    job_id = factories.job(open_now=False)
    delete(job_id)

    with pytest.raises(JobNotFound):
        reopen(job_id)
    with pytest.raises(JobNotFound):
        update_job(job_id=job_id, changes=JobChanges(capacity=3), actor=factories.RECRUITER)
    with pytest.raises(JobNotFound):
        delete(job_id)

    assert factories.event_names(job_id) == ["JOB_CREATED"]


@pytest.mark.parametrize("then", [None, pause_job, close_job])
def test_a_job_that_was_open_is_never_deleted(then: object) -> None:
    job_id = factories.job()
    if callable(then):
        then(job_id=job_id, actor=factories.RECRUITER)

    with pytest.raises(IllegalJobMove):
        delete(job_id)

    assert read_job(job_id)


@pytest.mark.parametrize("_time", range(5))
def test_opened_and_deleted_at_once_it_is_one_of_both(_time: int) -> None:
    job_id = factories.job(open_now=False)

    answers = together([lambda: delete(job_id), lambda: reopen(job_id)])

    was_deleted = not JobPosting.objects.filter(job_id=job_id).exists()
    assert factories.row_of(job_id).status == ("DRAFT" if was_deleted else "OPEN")
    assert kinds(answers) == sorted(
        ["NoneType", "JobNotFound" if was_deleted else "IllegalJobMove"]
    )
