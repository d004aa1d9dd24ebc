"""Reading who applied, as one company or as they themselves know it."""

from __future__ import annotations

from uuid import UUID

from applicants.models import Applicant
from jobs.models import Company
from pipeline.errors import ApplicantNotFound
from pipeline.models import Application


def read_applicant(applicant_id: UUID) -> Applicant:
    """A person, in one query. Raises ApplicantNotFound."""
    applicant = Applicant.objects.filter(id=applicant_id).first()
    if applicant is None:
        raise ApplicantNotFound
    return applicant


def read_company(company_id: UUID) -> Company:
    """A company that is known to exist, in one query."""
    return Company.objects.get(id=company_id)


def applicant_known_to(company_id: UUID, applicant_id: UUID) -> Applicant:
    """A person who has applied to one of a company's jobs, in one query.

    The name is the one that this company was last told. Raises ApplicantNotFound, for everybody
    else too.
    """
    theirs = Application.objects.filter(applicant_id=applicant_id, job__company_id=company_id)
    last = theirs.select_related("applicant").order_by("-id").first()
    if last is None:
        raise ApplicantNotFound
    applicant = last.applicant
    applicant.name = last.name
    return applicant


def has_applied(applicant_id: UUID, job_id: UUID) -> bool:
    """Whether a person has ever applied to a job, in one query."""
    return Application.objects.filter(applicant_id=applicant_id, job_id=job_id).exists()
