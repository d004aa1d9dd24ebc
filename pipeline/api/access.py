"""Access to the API: the one place where a caller is allowed or refused.

Without a credential: 401. With a credential that the table of permissions does not allow: 403.
Anything that belongs to someone else: 404, as if it did not exist.
"""

from __future__ import annotations

from uuid import UUID

from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from applicants.models import Applicant
from jobs.models import JobStatus, Role
from pipeline.api.callers import AnonymousCaller, Caller, CompanyCaller, PersonCaller, PortalCaller
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.domain.permissions import RULES, Action, Rule
from pipeline.selectors.applications import ApplicationFacts, application_facts
from pipeline.selectors.jobs import JobFacts, read_job_facts
from pipeline.selectors.people import person_known_to, read_person

ONLY_PORTAL = (
    "A portal token can only read, acknowledge and withdraw the applications of its person to its"
    " company."
)


def authorize(caller: Caller, action: Action) -> None:
    """Check that a caller may take an action. Raises NotAuthenticated, PermissionDenied."""
    rule = RULES[action]
    if caller.is_allowed_by(rule):
        return
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    raise PermissionDenied(_missing_access_permission(rule, caller))


def authorize_company(caller: Caller, action: Action) -> CompanyCaller:
    """Return the caller, if they act for a company and may take the action."""
    authorize(caller, action)
    if not isinstance(caller, CompanyCaller):
        raise PermissionDenied("Only a company can do this.")
    return caller


def authorize_person(caller: Caller, action: Action) -> PersonCaller:
    """Return the caller, if they are an applicant and may take the action."""
    authorize(caller, action)
    if not isinstance(caller, PersonCaller):
        raise PermissionDenied("Only an applicant can do this.")
    return caller


def visible_job(caller: Caller, job_id: UUID) -> JobFacts:
    """Return a job that the caller can see.

    A draft is visible only to its own company, and so is a sandbox's job. Raises JobNotFound.
    """
    facts = getattr(caller, "subject", None)
    if not isinstance(facts, JobFacts):
        facts = read_job_facts(job_id)
    if not has_access_to_job(caller, facts.company_id, facts.status, is_test=facts.is_test):
        raise JobNotFound
    return facts


def has_access_to_job(caller: Caller, company_id: UUID, status: str, *, is_test: bool) -> bool:
    """Return whether a caller can see a job of that company in that status.

    A sandbox and everything outside it do not exist for each other.
    """
    if isinstance(caller, CompanyCaller | PortalCaller) and caller.company_id == company_id:
        return status != JobStatus.DRAFT or has_access_as_company(caller, company_id)
    is_from_test = isinstance(caller, CompanyCaller | PortalCaller) and caller.is_test
    return status != JobStatus.DRAFT and not is_test and not is_from_test


def has_access_as_company(caller: Caller, company_id: UUID) -> bool:
    """Return whether a caller acts for that company, and may read there."""
    rule = RULES[Action.READ_COMPANY]
    return owns_as_company(caller, company_id) and caller.is_allowed_by(rule)


def owns_as_company(caller: Caller, company_id: UUID) -> bool:
    """Return whether a caller acts for that company, whatever they may do there."""
    return isinstance(caller, CompanyCaller) and caller.company_id == company_id


def own_job(caller: Caller, job_id: UUID, action: Action) -> tuple[CompanyCaller, JobFacts]:
    """Return a job of the caller's company, if the caller may take the action."""
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    facts = visible_job(caller, job_id)
    if isinstance(caller, CompanyCaller) and caller.company_id != facts.company_id:
        raise JobNotFound
    return authorize_company(caller, action), facts


def own_application(
    caller: Caller, application_id: UUID, action: Action
) -> tuple[PersonCaller | PortalCaller, ApplicationFacts]:
    """Return one of the caller's own applications; for a portal, one to its company."""
    facts = _accessible_application(caller, application_id)
    if isinstance(caller, PortalCaller):
        authorize(caller, action)
        return caller, facts
    return authorize_person(caller, action), facts


def received_application(
    caller: Caller, application_id: UUID, action: Action
) -> tuple[CompanyCaller, ApplicationFacts]:
    """Return an application to a job of the caller's company, if they may take the action."""
    facts = _accessible_application(caller, application_id)
    return authorize_company(caller, action), facts


def visible_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    """Return an application that the caller sent or received, to read only."""
    facts = _accessible_application(caller, application_id)
    authorize(caller, Action.READ_APPLICATION)
    return facts


def visible_applicant(caller: Caller, applicant_id: UUID) -> Applicant:
    """Return the caller, or one of their company's applicants. Raises ApplicantNotFound."""
    authorize(caller, Action.READ_APPLICANT)
    if isinstance(caller, CompanyCaller):
        return person_known_to(caller.company_id, applicant_id)
    if not has_access_as_person(caller, applicant_id):
        raise ApplicantNotFound
    if isinstance(caller, PortalCaller):
        return person_known_to(caller.company_id, applicant_id)
    return read_person(applicant_id)


def company_in_view(caller: Caller) -> UUID | None:
    """Return the company whose jobs a caller may see when reading a person; None for all."""
    return caller.company_id if isinstance(caller, CompanyCaller | PortalCaller) else None


def has_access_to_applicant(
    caller: Caller, company_id: UUID, applicant_id: UUID, *, is_test: bool
) -> bool:
    """Return whether a caller sent or received an application; a portal, both.

    Nobody sends an application to a sandbox: its company puts every one of them there.
    """
    if isinstance(caller, PersonCaller) and is_test:
        return False
    if isinstance(caller, PortalCaller) and caller.company_id != company_id:
        return False
    return owns_as_company(caller, company_id) or has_access_as_person(caller, applicant_id)


def has_access_as_person(caller: Caller, applicant_id: UUID) -> bool:
    """Return whether a caller is that applicant, here or on a company's own site."""
    return isinstance(caller, PersonCaller | PortalCaller) and caller.applicant_id == applicant_id


def _accessible_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    facts = caller.subject
    if not isinstance(facts, ApplicationFacts):
        facts = application_facts(application_id)
    if not has_access_to_applicant(
        caller, facts.company_id, facts.applicant_id, is_test=facts.is_test
    ):
        raise ApplicationNotFound
    return facts


def _missing_access_permission(
    rule: Rule, caller: CompanyCaller | PersonCaller | PortalCaller
) -> str:
    """Return the reason why a caller with a credential cannot take an action."""
    if isinstance(caller, PortalCaller):
        return ONLY_PORTAL
    if isinstance(caller, PersonCaller):
        return "Only a company can do this."
    if caller.role is None and rule.scope is not None:
        return f"This needs a key with the scope '{rule.scope.value}'."
    if rule.role is None:
        return "Only a key can do this." if rule.scope else "Only an applicant can do this."
    if caller.role is None:
        return "Only an owner who is signed in can do this; a key cannot."
    if rule.role is Role.OWNER:
        return "Only an owner of the company can do this."
    return "Your role in the company does not allow this."
