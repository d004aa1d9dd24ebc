"""Reads of jobs, with recent figures and planned seats."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Concat

from jobs.models import Company, Job, JobPosting, JobStatus, Retention
from jobs.review_clock import ReviewClock
from pipeline.domain.errors import JobNotFound, PlannedSeatsNotFound
from pipeline.maintenance.name_index import folded
from pipeline.models import CareersPage, Event, JobReference, PlannedSeats
from pipeline.selectors.pages import Page
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
    form_version: int
    review_target_seconds: int | None = None
    working_hours: dict[str, Any] | None = None
    shown_consents: list[UUID] | None = None  # of the company
    equality_questions: list[str] | None = None  # of the company

    @property
    def review_clock(self) -> ReviewClock | None:
        """Return the clock of the job's reviews; None without a target."""
        return ReviewClock.read(self.review_target_seconds, self.working_hours)


# The hours in which the time to a job's review target runs; not read without a target.
REVIEW_HOURS = """CASE WHEN posting.review_target_seconds IS NOT NULL THEN (
    SELECT working_hours FROM jobs_company WHERE id = job.company_id) END"""

JOB_FACTS = PreparedStatement(
    f"""
SELECT job.id, job.company_id, job.status, posting.title, job.seq, posting.version, job.is_test,
       job.form_version, posting.review_target_seconds, {REVIEW_HOURS},
       (SELECT shown_consents FROM jobs_company WHERE id = job.company_id),
       (SELECT equality_questions FROM jobs_company WHERE id = job.company_id)
FROM jobs_job job JOIN jobs_jobposting posting ON posting.job_id = job.id
WHERE job.id = %(job)s
""",  # noqa: S608  a constant
    JobFacts,
)


def read_job_facts(job_id: UUID) -> JobFacts:
    """Return the facts of a job, in one query. Raises JobNotFound."""
    facts = JOB_FACTS.first(job=job_id)
    if facts is None:
        raise JobNotFound
    return facts


def _model_columns(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


_JOB, _POSTING, _COMPANY, _REFERENCE, _RETENTION = (
    _model_columns(Job),
    _model_columns(JobPosting),
    _model_columns(Company),
    _model_columns(JobReference),
    _model_columns(Retention),
)
# Of the company's careers page, without its text.
_CAREERS = ["company_id", "slug", "colour", "logo_digest", "domain", "domain_proved_at"]


def _build_whole(*row: Any) -> Job:
    """Return a job from the columns of these models; it may lack the last three."""
    of_job, of_posting = len(_JOB), len(_JOB) + len(_POSTING)
    of_company = of_posting + len(_COMPANY)
    of_careers = of_company + len(_CAREERS)
    job = Job.from_db("default", _JOB, row[:of_job])
    job.posting = JobPosting.from_db("default", _POSTING, row[of_job:of_posting])
    job.company = Company.from_db("default", _COMPANY, row[of_posting:of_company])
    of_reference = of_careers + len(_REFERENCE)
    careers = row[of_company:of_careers]
    page = CareersPage.from_db("default", _CAREERS, careers) if careers[0] else None
    Company._meta.get_field("careers").set_cached_value(job.company, page)
    _set_optional(job, "reference", JobReference, _REFERENCE, row[of_careers:of_reference])
    _set_optional(job, "retention", Retention, _RETENTION, row[of_reference:])
    return job


def _set_optional(
    job: Job, name: str, model: type[Model], columns: list[str], row: tuple[Any, ...]
) -> None:
    values = dict(zip(columns, row, strict=True))
    found = model(**values) if values["job_id"] else None
    field: Any = Job._meta.get_field(name)
    field.set_cached_value(job, found)


def _columns_sql(table: str, names: list[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


# The ORM would build this text again for each request.
WHOLE_JOB = PreparedStatement(
    f"""
SELECT {_columns_sql("job", _JOB)}, {_columns_sql("posting", _POSTING)},
       {_columns_sql("company", _COMPANY)}, {_columns_sql("careers", _CAREERS)},
       {_columns_sql("reference", _REFERENCE)}, {_columns_sql("kept", _RETENTION)}
FROM jobs_job job
JOIN jobs_jobposting posting ON posting.job_id = job.id
JOIN jobs_company company ON company.id = job.company_id
LEFT JOIN pipeline_careerspage careers ON careers.company_id = job.company_id
LEFT JOIN pipeline_jobreference reference ON reference.job_id = job.id
LEFT JOIN jobs_retention kept ON kept.job_id = job.id
WHERE job.id = %(job)s
""",  # noqa: S608  names of columns
    _build_whole,
)


def read_job(job_id: UUID) -> Job:
    """Return a job with its posting, its company and that one's careers page, in one query.

    Raises JobNotFound.
    """
    job = WHOLE_JOB.first(job=job_id)
    if job is None:
        raise JobNotFound
    return job


class OpenJob(NamedTuple):
    """Open job as a company's navigation names it."""

    id: UUID
    title: str
    people_waiting: int
    seats_free: int


_NEWEST_OPEN = PreparedStatement(
    """
SELECT job.id, posting.title, job.waitlist_count - job.unverified_count,
       CASE WHEN job.hired_count >= job.positions_to_fill THEN 0
            ELSE greatest(0, least(job.capacity - job.active_count - job.pending_count,
                job.capacity - job.reserved_seats - job.active_count - job.pending_count
                + CASE WHEN job.reserved_seats > 0 THEN job.reserved_count ELSE 0 END)) END
FROM jobs_job job JOIN jobs_jobposting posting ON posting.job_id = job.id
WHERE job.company_id = %(company)s AND job.status = 'OPEN'
  AND (%(among)s::uuid[] IS NULL OR job.id = ANY(%(among)s::uuid[]))
ORDER BY job.id DESC LIMIT %(most)s
""",
    OpenJob,
)


def read_newest_open_jobs(
    company_id: UUID, *, among: list[UUID] | None = None, limit: int
) -> list[OpenJob]:
    """Return a company's newest open jobs, in one query. `among`: only these jobs."""
    return _NEWEST_OPEN.all(company=company_id, among=among, most=limit)


def read_open_jobs(
    *,
    search: str,
    after: UUID | None,
    limit: int,
    company_id: UUID | None = None,
    facts: Mapping[str, str] = MappingProxyType({}),
) -> Page[Job]:
    """Return the open jobs that the site lists, newest first, in one query.

    Each word of `search` must be in the title, the location, the department or the company's name.
    `after` is the last job of the previous page. `company_id`: all open jobs of this company
    instead; `facts`: only those whose postings have these values. Sandboxes have none.
    """
    jobs = _query_whole().filter(status=JobStatus.OPEN, is_test=False)
    if company_id:
        jobs = jobs.filter(company_id=company_id)
    elif settings.SITE_JOB_LIST:
        # Without a careers page, a company's jobs are listed.
        jobs = jobs.exclude(company__careers__is_on_site_list=False)
    else:
        return Page([], more=False)
    jobs = jobs.filter(**{f"posting__{name}": value for name, value in facts.items()})
    names = ("title", "location", "department")
    columns: list[Any] = [part for name in names for part in (f"posting__{name}", Value(" "))]
    text = Concat(*columns, "company__name")
    for word in search.split():
        jobs = jobs.alias(text=folded(text)).filter(text__contains=folded(Value(word)))
    return _read_page(jobs, after, limit)


def read_sitemap_entries(*, limit: int) -> list[tuple[UUID, datetime]]:
    """Return the id of each open job outside sandboxes, newest first, and when its text changed."""
    jobs = Job.objects.filter(posting__isnull=False, status=JobStatus.OPEN, is_test=False)
    return list(jobs.order_by("-id").values_list("id", "posting__updated_at")[:limit])


def read_company_jobs(
    company_id: UUID,
    *,
    status: str | None,
    search: str,
    external_id: str | None = None,
    metadata: Mapping[str, str] | None = None,
    among: Collection[UUID] | None = None,
    after: UUID | None,
    limit: int,
) -> Page[Job]:
    """Return a company's jobs with their references, drafts included, newest first, in one query.

    `search` must be in the title or the location as it is, and each text of `metadata` in the
    job's. `among`: only these jobs.
    """
    jobs = _query_whole().select_related("reference").filter(company_id=company_id)
    if external_id is not None:
        jobs = jobs.filter(reference__external_id=external_id)
    if metadata:
        jobs = jobs.filter(reference__metadata__contains=dict(metadata))
    if among is not None:
        jobs = jobs.filter(id__in=among)
    if status:
        jobs = jobs.filter(status=status)
    if search:
        text = Concat("posting__title", Value("\n"), "posting__location")
        jobs = jobs.alias(text=folded(text)).filter(text__contains=folded(Value(search)))
    return _read_page(jobs, after, limit)


def read_titles(job_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the titles of some jobs, in one query; none if there are none."""
    if not job_ids:
        return {}
    rows = JobPosting.objects.filter(job_id__in=job_ids)
    return dict(rows.values_list("job_id", "title"))


def _query_whole() -> QuerySet[Job]:
    # A deleted draft has no posting.
    return Job.objects.filter(posting__isnull=False).select_related("posting", "company")


def _read_page(jobs: QuerySet[Job], after: UUID | None, limit: int) -> Page[Job]:
    if after:
        jobs = jobs.filter(id__lt=after)
    return Page.cut(list(jobs.order_by("-id")[: limit + 1]), limit)


# Recent events of jobs, read in bounded time however long their logs are.


# How many of a job's last promotions, or last acknowledgements, a median uses.
WEIGHED = 200

# With fewer, a median is not typical.
FEWEST_SAMPLES = 5

# The limit up to which misses are counted.
MOST_MISSES = 1_000


@dataclass(frozen=True, slots=True)
class RecentFacts:
    """Recent durations in seconds; None if there were too few events."""

    # From applying to the first offer of a seat, for people who waited and had never missed.
    median_wait_seconds: float | None
    # From the offer of a seat to its acknowledgement.
    median_answer_seconds: float | None


NOTHING_YET = RecentFacts(None, None)

# Both medians of each job, from the index of recent events. An application is acknowledged at most
# once, so its row still knows when the acknowledged seat was offered.
MEDIAN_WAIT = """(
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM last.at - person.applied_at)::float8)
    FROM (
        SELECT at, application_id, data FROM pipeline_event
        WHERE job_id = job.id AND event = 'PROMOTED' ORDER BY at DESC LIMIT %(most)s
    ) last
    JOIN pipeline_application person ON person.id = last.application_id
    WHERE last.data ->> 'decay_count' = '0'
    HAVING count(*) >= %(fewest)s
)"""
_MEDIANS = f"""
SELECT job.id, {MEDIAN_WAIT}, (
    SELECT percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM last.at - person.promoted_at)::float8)
    FROM (
        SELECT at, application_id FROM pipeline_event
        WHERE job_id = job.id AND event = 'ACKNOWLEDGED' ORDER BY at DESC LIMIT %(most)s
    ) last
    JOIN pipeline_application person ON person.id = last.application_id
    WHERE last.at > person.promoted_at  -- not those in advance
    HAVING count(*) >= %(fewest)s
)
FROM unnest(%(jobs)s::uuid[]) job(id)
"""  # noqa: S608  a constant


def recent_waits(job_ids: Collection[UUID]) -> dict[UUID, RecentFacts]:
    """Return each job's medians over its last 200 events of a kind, in one query.

    A median of fewer than FEWEST_SAMPLES events is None.
    """
    if not job_ids:
        return {}
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"jobs": list(job_ids), "most": WEIGHED, "fewest": FEWEST_SAMPLES}
        cursor.execute(_MEDIANS, values)
        return {job_id: RecentFacts(wait, answer) for job_id, wait, answer in cursor.fetchall()}


@dataclass(frozen=True, slots=True)
class RecentActivity:
    """Recent facts of a job that may need attention."""

    # Deadlines missed within the requested span, counted up to 1,000.
    misses: int
    # The earliest open deadline; in the past only until it is settled.
    first_deadline: datetime | None
    # When someone was last offered a seat from the waitlist.
    last_promotion: datetime | None


# The time by the job's own clock: ahead of the database's only in a sandbox.
_NOW = """statement_timestamp() + make_interval(
    secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = job.id))"""

# Each sub-select is a bounded scan of an index that begins with the job.
_ACTIVITY = f"""
SELECT job.id, (
    SELECT count(*) FROM (
        (SELECT FROM pipeline_event WHERE job_id = job.id AND event = 'DECAYED'
            AND at > {_NOW} - make_interval(secs => %(span)s) LIMIT %(most)s)
        UNION ALL
        (SELECT FROM pipeline_event WHERE job_id = job.id AND event = 'LAPSED'
            AND from_status = 'PENDING_ACKNOWLEDGMENT'
            AND at > {_NOW} - make_interval(secs => %(span)s) LIMIT %(most)s)
    ) missed
), (
    SELECT min(acknowledge_by) FROM pipeline_application
    WHERE job_id = job.id AND status = 'PENDING_ACKNOWLEDGMENT'
), (
    SELECT max(at) FROM pipeline_event WHERE job_id = job.id AND event = 'PROMOTED'
)
FROM unnest(%(jobs)s::uuid[]) job(id)
"""  # noqa: S608


class Miss(NamedTuple):
    """Deadline that a person missed, and whether the miss ended the application."""

    application_id: UUID
    name: str
    at: datetime
    is_last: bool


_MISSED = """(
        SELECT * FROM pipeline_event WHERE job_id = %(job)s AND event = '{event}'
          AND from_status = 'PENDING_ACKNOWLEDGMENT'
          AND at > {now} - make_interval(secs => %(span)s)
        ORDER BY at DESC LIMIT %(most)s
    )"""
_NOW_IN_JOB = _NOW.replace("job.id", "%(job)s")

_MISSES = f"""
SELECT event.application_id, person.name, event.effective_at, event.event = 'LAPSED'
FROM (
    {_MISSED.format(event="DECAYED", now=_NOW_IN_JOB)}
    UNION ALL
    {_MISSED.format(event="LAPSED", now=_NOW_IN_JOB)}
) event JOIN pipeline_application person ON person.id = event.application_id
ORDER BY event.at DESC, event.seq DESC LIMIT %(most)s
"""  # noqa: S608  constants of this module


def recent_misses(job_id: UUID, span: timedelta, *, limit: int) -> list[Miss]:
    """Return a job's last missed deadlines within the span, latest first, in one query."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "span": span.total_seconds(), "most": limit}
        cursor.execute(_MISSES, values)
        return [Miss(*row) for row in cursor.fetchall()]


# The names of people are read with their events, so that a feed costs one round trip.
_LATEST = """
SELECT event.*, coalesce(person.name, '') AS name
FROM (
    SELECT * FROM pipeline_event WHERE job_id = %(job)s ORDER BY seq DESC LIMIT %(most)s
) event LEFT JOIN pipeline_application person ON person.id = event.application_id
ORDER BY event.seq DESC
"""


def recent_events(job_id: UUID, *, limit: int) -> list[tuple[Event, str]]:
    """Return a job's last events, latest first, each with the person's name, in one query.

    The name is empty for an event of the job itself, and of a person who was erased.
    """
    rows = Event.objects.raw(_LATEST, {"job": job_id, "most": limit})
    return [(event, event.name) for event in rows]  # type: ignore[attr-defined]  # of _LATEST


def recent_activity(job_ids: Collection[UUID], span: timedelta) -> dict[UUID, RecentActivity]:
    """Return the recent facts of each job, in one query."""
    if not job_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            _ACTIVITY, {"jobs": list(job_ids), "span": span.total_seconds(), "most": MOST_MISSES}
        )
        return {
            job_id: RecentActivity(min(misses, MOST_MISSES), first, last)
            for job_id, misses, first, last in cursor.fetchall()
        }


# Reads of the seats that a job will open or close.


def read_seat_plans(job_id: UUID) -> list[PlannedSeats]:
    """Return a job's plans, the next one first. There are at most `plan_seats.MOST_PLANS`."""
    return list(PlannedSeats.objects.filter(job_id=job_id).order_by("next_at", "id"))


def read_planned_seats(job_id: UUID, planned_id: UUID) -> PlannedSeats:
    """Return one plan of a job. Raises PlannedSeatsNotFound if it has no changes left."""
    found = PlannedSeats.objects.filter(job_id=job_id, id=planned_id).first()
    if found is None:
        raise PlannedSeatsNotFound
    return found


def planned_seats_cache_tag(plans: list[PlannedSeats]) -> str:
    """Return a text that changes whenever the plans do."""
    return " ".join(f"{plan.id}:{plan.done}" for plan in plans)
