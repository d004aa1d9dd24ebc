"""Reading who applied, as one company or as they themselves know it."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q, Subquery

from applicants.models import Applicant
from applicants.services import normal_address
from jobs.models import Company
from pipeline.errors import ApplicantNotFound
from pipeline.models import Application


def read_applicant(applicant_id: UUID) -> Applicant:
    """A person, in one query. Raises ApplicantNotFound, for who was erased too."""
    applicant = Applicant.objects.filter(id=applicant_id).first()
    if applicant is None or applicant.is_erased:
        raise ApplicantNotFound
    return applicant


def read_company(company_id: UUID) -> Company:
    """A company that is known to exist, in one query."""
    return Company.objects.get(id=company_id)


def applicant_known_to(company_id: UUID, applicant_id: UUID) -> Applicant:
    """A person who has applied to one of a company's jobs, in one query.

    The name is the one that this company was last told, and `created_at` when it was first told:
    nobody learns who was here before. Raises ApplicantNotFound, for everybody
    else too.
    """
    found = _as_told(company_id, Q(applicant_id=applicant_id))
    if found is None:
        raise ApplicantNotFound
    return found


def applicants_with_address(company_id: UUID, email: str) -> list[Applicant]:
    """Who of a company's applicants has that address, in whatever case it is written: one, or none.

    In one query, under the name that this company was last told.
    """
    found = _as_told(company_id, Q(applicant__email=normal_address(email)))
    return [found] if found else []


def _as_told(company_id: UUID, who: Q) -> Applicant | None:
    theirs = Application.objects.filter(who, job__company_id=company_id)
    first = theirs.order_by("applied_at").values("applied_at")[:1]
    told = theirs.annotate(known_since=Subquery(first)).select_related("applicant")
    last = told.order_by("-id").first()
    if last is None:
        return None
    applicant = last.applicant
    applicant.name, applicant.created_at = last.name, last.known_since
    return applicant


def has_applied(applicant_id: UUID, job_id: UUID) -> bool:
    """Whether a person has ever applied to a job, in one query."""
    return Application.objects.filter(applicant_id=applicant_id, job_id=job_id).exists()
