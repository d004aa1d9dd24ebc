"""Who may do what with what: the one place where a caller is let through or refused.

Without a credential: 401. On a thing of one's own, with the wrong kind of caller or without the
scope: 403. What is somebody else's does not exist: 404.
"""

from __future__ import annotations

from uuid import UUID

from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from jobs.models import JobStatus, Scope
from pipeline.api.callers import Caller, CompanyCaller, Nobody, PersonCaller
from pipeline.errors import ApplicationNotFound, JobNotFound
from pipeline.selectors.applications import ApplicationFacts, application_facts
from pipeline.selectors.jobs import JobFacts, job_facts


def as_company(caller: Caller, scope: Scope) -> CompanyCaller:
    """The caller, who acts for a company and has the scope."""
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    if isinstance(caller, PersonCaller):
        raise PermissionDenied("Only a company can do this.")
    if not caller.may(scope):
        raise PermissionDenied(f"This needs a key with the scope '{scope.value}'.")
    return caller


def as_person(caller: Caller) -> PersonCaller:
    """The caller, who is a person."""
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    if isinstance(caller, CompanyCaller):
        raise PermissionDenied("Only an applicant can do this.")
    return caller


def visible_job(caller: Caller, job_id: UUID) -> JobFacts:
    """A job that this caller can see: a draft only of their own company. Raises JobNotFound."""
    facts = job_facts(job_id)
    if not sees(caller, facts.company_id, facts.status):
        raise JobNotFound
    return facts


def sees(caller: Caller, company_id: UUID, status: str) -> bool:
    """Whether a caller can see a job of that company in that status."""
    return status != JobStatus.DRAFT or is_of(caller, company_id)


def is_of(caller: Caller, company_id: UUID) -> bool:
    """Whether a caller acts for that company."""
    return isinstance(caller, CompanyCaller) and caller.company_id == company_id


def own_job(caller: Caller, job_id: UUID, scope: Scope) -> tuple[CompanyCaller, JobFacts]:
    """A job of the caller's company, who may do that with it."""
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    facts = visible_job(caller, job_id)
    if isinstance(caller, CompanyCaller) and caller.company_id != facts.company_id:
        raise JobNotFound
    return as_company(caller, scope), facts


def own_application(caller: Caller, application_id: UUID) -> tuple[PersonCaller, ApplicationFacts]:
    """An application of the caller's own."""
    facts = _known_application(caller, application_id)
    return as_person(caller), facts


def received_application(
    caller: Caller, application_id: UUID, scope: Scope
) -> tuple[CompanyCaller, ApplicationFacts]:
    """An application to a job of the caller's company, who may do that with it."""
    facts = _known_application(caller, application_id)
    return as_company(caller, scope), facts


def knows(caller: Caller, company_id: UUID, applicant_id: UUID) -> bool:
    """Whether a caller is one of the two sides of an application."""
    if isinstance(caller, PersonCaller):
        return caller.applicant_id == applicant_id
    return is_of(caller, company_id)


def _known_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    facts = application_facts(application_id)
    if not knows(caller, facts.company_id, facts.applicant_id):
        raise ApplicationNotFound
    return facts
