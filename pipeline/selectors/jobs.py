"""Reads of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Expression, Func, Model, QuerySet, TextField, Value
from django.db.models.functions import Concat

from jobs.models import Company, Job, JobPosting, JobStatus
from pipeline.domain.errors import JobNotFound
from pipeline.models import JobReference
from pipeline.selectors.page import Page
from tasks.sql.prepared import PreparedStatement


class JobFacts(NamedTuple):
    """Facts of a job that decide who may act on it."""

    id: UUID
    company_id: UUID
    status: str
    title: str
    seq: int
    posting_version: int
    is_test: bool  # of a sandbox


JOB_FACTS = PreparedStatement(
    """
SELECT job.id, job.company_id, job.status, posting.title, job.seq, posting.version, job.is_test
FROM jobs_job job JOIN jobs_jobposting posting ON posting.job_id = job.id
WHERE job.id = %(job)s
""",
    JobFacts,
)


def read_job_facts(job_id: UUID) -> JobFacts:
    """Return the facts of a job, in one query. Raises JobNotFound."""
    facts = JOB_FACTS.first(job=job_id)
    if facts is None:
        raise JobNotFound
    return facts


def _columns_for_jobs(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


_JOB, _POSTING, _COMPANY, _REFERENCE = (
    _columns_for_jobs(Job),
    _columns_for_jobs(JobPosting),
    _columns_for_jobs(Company),
    _columns_for_jobs(JobReference),
)


def _read_job_from_columns(*row: Any) -> Job:
    """Return a job from the columns of job, posting, company and reference, in this order."""
    of_job, of_posting = len(_JOB), len(_JOB) + len(_POSTING)
    of_company = of_posting + len(_COMPANY)
    job = Job.from_db("default", _JOB, row[:of_job])
    job.posting = JobPosting.from_db("default", _POSTING, row[of_job:of_posting])
    job.company = Company.from_db("default", _COMPANY, row[of_posting:of_company])
    values = dict(zip(_REFERENCE, row[of_company:], strict=True))
    reference = JobReference(**values) if values["job_id"] else None
    Job._meta.get_field("reference").set_cached_value(job, reference)
    return job


def _job_columns_sql(table: str, names: list[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


# The ORM would build this text again for each request.
WHOLE_JOB = PreparedStatement(
    f"""
SELECT {_job_columns_sql("job", _JOB)}, {_job_columns_sql("posting", _POSTING)},
       {_job_columns_sql("company", _COMPANY)}, {_job_columns_sql("reference", _REFERENCE)}
FROM jobs_job job
JOIN jobs_jobposting posting ON posting.job_id = job.id
JOIN jobs_company company ON company.id = job.company_id
LEFT JOIN pipeline_jobreference reference ON reference.job_id = job.id
WHERE job.id = %(job)s
""",  # noqa: S608  names of columns
    _read_job_from_columns,
)


def read_job(job_id: UUID) -> Job:
    """Return a job with its posting and its company, in one query. Raises JobNotFound."""
    job = WHOLE_JOB.first(job=job_id)
    if job is None:
        raise JobNotFound
    return job


def read_open_jobs(*, search: str, after: UUID | None, limit: int) -> Page[Job]:
    """Return the open jobs of every company but the sandboxes, newest first, in one query.

    Each word of `search` must be in the title, the location or the company's name. `after` is
    the last job of the previous page.
    """
    jobs = _whole_jobs().filter(status=JobStatus.OPEN, is_test=False)
    text = Concat("posting__title", Value(" "), "posting__location", Value(" "), "company__name")
    for word in search.split():
        jobs = jobs.alias(text=_folded(text)).filter(text__contains=_folded(Value(word)))
    return _page_of_jobs(jobs, after, limit)


def read_open_job_pages(*, limit: int) -> list[tuple[UUID, datetime]]:
    """Return the id of each open job outside sandboxes, newest first, and when its text changed."""
    jobs = Job.objects.filter(posting__isnull=False, status=JobStatus.OPEN, is_test=False)
    return list(jobs.order_by("-id").values_list("id", "posting__updated_at")[:limit])


def jobs_of_company(
    company_id: UUID,
    *,
    status: str | None,
    search: str,
    external_id: str | None = None,
    metadata: Mapping[str, str] | None = None,
    after: UUID | None,
    limit: int,
) -> Page[Job]:
    """Return a company's jobs with their references, drafts included, newest first, in one query.

    `search` must be in the title or the location as it is, and each text of `metadata` in the
    job's.
    """
    jobs = _whole_jobs().select_related("reference").filter(company_id=company_id)
    if external_id is not None:
        jobs = jobs.filter(reference__external_id=external_id)
    if metadata:
        jobs = jobs.filter(reference__metadata__contains=dict(metadata))
    if status:
        jobs = jobs.filter(status=status)
    if search:
        text = Concat("posting__title", Value("\n"), "posting__location")
        jobs = jobs.alias(text=_folded(text)).filter(text__contains=_folded(Value(search)))
    return _page_of_jobs(jobs, after, limit)


def _folded(text: Expression) -> Func:
    """Return a text as searches compare it: without case, accents, apostrophes and joiners."""
    return Func(text, function="pipeline_folded", output_field=TextField())


def _whole_jobs() -> QuerySet[Job]:
    # A deleted draft has no posting.
    return Job.objects.filter(posting__isnull=False).select_related("posting", "company")


def _page_of_jobs(jobs: QuerySet[Job], after: UUID | None, limit: int) -> Page[Job]:
    if after:
        jobs = jobs.filter(id__lt=after)
    return Page.cut(list(jobs.order_by("-id")[: limit + 1]), limit)
