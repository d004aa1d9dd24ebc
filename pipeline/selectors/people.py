"""Reads of applicants, for one company or for themselves."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, Subquery

from applicants.addresses import normal_address
from applicants.models import Applicant
from pipeline.domain.errors import ApplicantNotFound
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.selectors.applications import SeenApplication, read_seen_applications
from pipeline.selectors.sql import FOUND

# How many of a company's last events are searched for its latest applicants.
EVENTS_LOOKED_AT = 1_000


def read_person(applicant_id: UUID) -> Applicant:
    """Return a person, in one query. Raises ApplicantNotFound, also for erased people."""
    applicant = Applicant.objects.filter(id=applicant_id).first()
    if applicant is None or applicant.is_erased:
        raise ApplicantNotFound
    return applicant


def person_known_to(company_id: UUID, applicant_id: UUID) -> Applicant:
    """Return a person who has applied to one of a company's jobs, in one query.

    The name is the last one that this company was given, and `created_at` is when the person first
    applied to it, so it learns nothing about earlier activity elsewhere. Raises ApplicantNotFound,
    also for other companies' applicants.
    """
    found = _person_seen_by_company(company_id, Q(applicant_id=applicant_id))
    if found is None:
        raise ApplicantNotFound
    return found


def people_with_address(company_id: UUID, email: str) -> list[Applicant]:
    """Return a company's applicants with an address, in any case: one person or none.

    In one query, under the last name that this company was given.
    """
    found = _person_seen_by_company(company_id, Q(applicant__email=normal_address(email)))
    return [found] if found else []


def _person_seen_by_company(company_id: UUID, who: Q) -> Applicant | None:
    theirs = Application.objects.filter(who, job__company_id=company_id)
    first = theirs.order_by("applied_at").values("applied_at")[:1]
    told = theirs.annotate(known_since=Subquery(first)).select_related("applicant")
    last = told.order_by("-id").first()
    if last is None:
        return None
    applicant = last.applicant
    applicant.name, applicant.created_at = last.name, last.known_since
    return applicant


def person_decided_before(job_id: UUID, email: str) -> Application | None:
    """Return the last application from an address that the company hired or rejected. One query."""
    theirs = Application.objects.filter(job_id=job_id, applicant__email=normal_address(email))
    last = theirs.order_by("-id").first()
    return last if last and last.outcome in (Outcome.HIRED, Outcome.REJECTED) else None


_LATELY_APPLIED = """
SELECT application_id FROM (
    SELECT application_id, event, txid, id FROM pipeline_event WHERE company_id = %(company)s
    ORDER BY txid DESC, id DESC LIMIT %(looked_at)s
) recent
WHERE event = 'APPLIED' ORDER BY txid DESC, id DESC LIMIT %(most)s
"""


def recently_applied_people(company_id: UUID, *, limit: int) -> list[SeenApplication]:
    """Return the latest applications to a company's jobs, newest first, in two queries.

    Only the company's last EVENTS_LOOKED_AT events are searched, so busy lines may yield fewer than
    `limit`.
    """
    values: dict[str, Any] = {"company": company_id, "looked_at": EVENTS_LOOKED_AT, "most": limit}
    with connection.cursor() as cursor:
        cursor.execute(_LATELY_APPLIED, values)
        ids = [application_id for (application_id,) in cursor.fetchall()]
    seen = {each.application.id: each for each in read_seen_applications(FOUND, applications=ids)}
    return [seen[application_id] for application_id in ids if application_id in seen]


def has_person_applied(applicant_id: UUID, job_id: UUID) -> bool:
    """Return True if a person has ever applied to a job, in one query."""
    return Application.objects.filter(applicant_id=applicant_id, job_id=job_id).exists()
