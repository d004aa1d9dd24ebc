"""Who may do what with what: the one place where a caller is let through or refused.

Without a credential: 401. On a thing of one's own, with the wrong kind of caller or without the
scope or role: 403. What is somebody else's does not exist: 404. A viewer reads; a recruiter also
writes; some things are the owner's alone, and a key that may write does what an owner does, except
managing keys.
"""

from __future__ import annotations

from uuid import UUID

from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from applicants.models import Applicant
from jobs.models import JobStatus, Role, Scope
from pipeline.api.callers import Caller, CompanyCaller, Nobody, PersonCaller
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.selectors.applications import ApplicationFacts, application_facts
from pipeline.selectors.jobs import JobFacts, job_facts
from pipeline.selectors.people import applicant_known_to, read_applicant


def as_company(caller: Caller, scope: Scope) -> CompanyCaller:
    """The caller, who acts for a company and has the scope."""
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    if isinstance(caller, PersonCaller):
        raise PermissionDenied("Only a company can do this.")
    if not caller.may(scope):
        raise PermissionDenied(_lacking(caller, scope))
    return caller


def as_owner(caller: CompanyCaller) -> CompanyCaller:
    """The caller, who may do what only an owner may; a key that may write is as good as one."""
    if caller.role is not None and not caller.is_at_least(Role.OWNER):
        raise PermissionDenied("Only an owner of the company can do this.")
    return as_company(caller, Scope.WRITE)


def as_owner_in_person(caller: Caller) -> CompanyCaller:
    """The caller, who is an owner signed in with a browser: a key cannot make or end keys."""
    caller = as_company(caller, Scope.READ)
    if caller.role is None:
        raise PermissionDenied("Only an owner who is signed in can do this; a key cannot.")
    return as_owner(caller)


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


def seen_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    """An application that the caller is one of the two sides of, to be read."""
    facts = _known_application(caller, application_id)
    if isinstance(caller, CompanyCaller):
        as_company(caller, Scope.READ)
    return facts


def known_applicant(caller: Caller, applicant_id: UUID) -> Applicant:
    """A person: oneself, or one of the company's applicants. Raises ApplicantNotFound."""
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    if isinstance(caller, CompanyCaller):
        return applicant_known_to(as_company(caller, Scope.READ).company_id, applicant_id)
    if caller.applicant_id != applicant_id:
        raise ApplicantNotFound
    return read_applicant(applicant_id)


def knows(caller: Caller, company_id: UUID, applicant_id: UUID) -> bool:
    """Whether a caller is one of the two sides of an application."""
    if isinstance(caller, PersonCaller):
        return caller.applicant_id == applicant_id
    return is_of(caller, company_id)


def _lacking(caller: CompanyCaller, scope: Scope) -> str:
    if caller.role is not None:
        return "Your role in the company does not allow this."
    return f"This needs a key with the scope '{scope.value}'."


def _known_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    facts = application_facts(application_id)
    if not knows(caller, facts.company_id, facts.applicant_id):
        raise ApplicationNotFound
    return facts
