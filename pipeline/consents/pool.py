"""Talent pool of a company: people who agreed that it may write to them about its other jobs.

An agreement belongs to the application with which it was given: it ends after the months that its
version names, when the person takes it back, and when the data of that application is erased. It
changes the order of no line.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from applicants.addresses import normal_address
from applicants.models import ERASED_NAME
from jobs.models import Company
from pipeline.consents.agreements import describe
from pipeline.consents.versions import POOL, Wanted, pool_of, publish, shown_by
from pipeline.database import instants
from pipeline.domain.errors import ConsentsChanged
from pipeline.models import Agreement, Application, ApplicationMessage


def set_months(*, company_id: UUID, months: int | None, by: UUID | None) -> None:
    """Ask people who apply from now on whether they want to be in the pool; None: do not ask.

    Agreements that were given keep their own end. Raises ConsentsChanged if someone else publishes
    at the same time.
    """
    shown = shown_by(Company.objects.get(id=company_id))
    wanted = [Wanted.of(each) for each in shown if not each.is_of_pool]
    item = next((each.item for each in shown if each.is_of_pool), None)
    if months is not None:
        wanted.append(Wanted(POOL, "", is_required=False, item=item, months=months))
    publish(company_id=company_id, wanted=wanted, seen=[each.id for each in shown], by=by)


def join(*, application_id: UUID, company: Company, version_id: UUID) -> None:
    """Agree, after applying, to be in the pool; who is in it already starts anew.

    `version_id`: what the person was shown. Raises ConsentsChanged if the company asks otherwise
    now, or not at all.
    """
    version = pool_of(company)
    if version is None or version.id != version_id:
        raise ConsentsChanged
    now = instants.now(ahead_seconds=company.clock_offset_seconds)
    describe(version, application_id, agreed=True, at=now).save(force_insert=True)


def read_own(application_id: UUID, *, now: datetime) -> Agreement | None:
    """Return a person's agreement with an application that holds now, in one query."""
    theirs = _holding(now).filter(application_id=application_id)
    return theirs.order_by("-ends_at").first()


def hold(application: Application, company: Company) -> bool:
    """Tell whether a person is in the pool now, and hold them there until the transaction ends."""
    now = instants.now(ahead_seconds=company.clock_offset_seconds)
    theirs = _holding(now).filter(
        version__company=company, application__applicant_id=application.applicant_id
    )
    return bool(theirs.select_for_update(of=("self",)).order_by("id").values_list("id", flat=True))


def read_members(
    company: Company, *, job_id: UUID | None = None, search: str = ""
) -> QuerySet[Agreement]:
    """Return the latest agreement of everyone in a company's pool, newest first.

    `job_id`: only people who agreed when they applied to that job. `search`: a part of the name, or
    the whole address.
    """
    now = instants.now(ahead_seconds=company.clock_offset_seconds)
    person = "application__applicant_id"
    latest = _holding(now).filter(version__company=company).order_by(person, "-id").distinct(person)
    rows = Agreement.objects.filter(id__in=latest.values("id"))
    if job_id:
        rows = rows.filter(application__job_id=job_id)
    if "@" in search:
        rows = rows.filter(application__applicant__email=normal_address(search))
    elif search:
        rows = rows.filter(application__name__icontains=search)
    named = ("application__applicant", "application__job__posting")
    return rows.select_related(*named).order_by("-id")


def read_jobs(company: Company) -> list[tuple[UUID, str]]:
    """Return the jobs, with titles, to which people in a company's pool have applied."""
    job = "application__job_id", "application__job__posting__title"
    rows = Agreement.objects.filter(id__in=read_members(company).order_by().values("id"))
    return list(rows.values_list(*job).distinct().order_by(job[1], job[0]))


def find_to_write(members: QuerySet[Agreement], about_job_id: UUID) -> QuerySet[Application]:
    """Return the applications of those whom a company can tell of a job.

    Not of people who have applied to it, or have been told of it.
    """
    applied = Application.objects.filter(job_id=about_job_id)
    told = ApplicationMessage.objects.filter(about_job_id=about_job_id)
    people = members.exclude(
        Q(application__applicant__in=applied.values("applicant"))
        | Q(application__applicant__in=told.values("application__applicant"))
    )
    return Application.objects.filter(id__in=people.order_by().values("application"))


def was_told(applicant_id: UUID, about_job_id: UUID) -> bool:
    """Tell whether a person has applied to a job, or has been told of it."""
    told = ApplicationMessage.objects.filter(
        about_job_id=about_job_id, application__applicant_id=applicant_id
    )
    applied = Application.objects.filter(job_id=about_job_id, applicant_id=applicant_id)
    return told.exists() or applied.exists()


def _holding(now: datetime) -> QuerySet[Agreement]:
    """Return the agreements that hold, of people who have proved their address."""
    rows = Agreement.objects.filter(ends_at__gt=now, withdrawn_at=None, agreed=True)
    return rows.filter(application__verify_by=None).exclude(application__name=ERASED_NAME)
