"""Callers of the API: their credential, what they may do, and what they may see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast
from uuid import UUID

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import (
    AuthenticationFailed,
    NotAuthenticated,
    NotFound,
    PermissionDenied,
)
from rest_framework.request import Request

from applicants import tokens
from applicants.browser import signed_in_person_id
from applicants.codes import Requester
from applicants.models import Applicant
from applicants.people import person_exists
from applicants.tokens import FIND_TOKEN
from jobs import keys, team
from jobs.keys import FIND_KEY
from jobs.models import Job, JobRole, JobStatus, Role, User
from jobs.team import locked_companies
from pipeline.api.parameters import parse_id, refuse_parameter
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.domain.permissions import RULES, Action, Rule, jobs_allowing, sees_application
from pipeline.domain.states import Actor, ActorKind
from pipeline.integrations import portal_tokens
from pipeline.integrations.portal_tokens import FIND_PORTAL_TOKEN
from pipeline.models import Application, ApplicationRow
from pipeline.selectors.applications import APPLICATION_FACTS, ApplicationFacts, application_facts
from pipeline.selectors.jobs import JOB_FACTS, JobFacts, read_job_facts
from pipeline.selectors.people import read_known_person, read_person
from pipeline.web.addresses import client_address, client_site
from tasks.sql.prepared import PreparedStatement, run_statements

# Callers of the API: anonymous, a company by a key or a member, or an applicant.


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """A caller without a credential."""

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule allows everyone to act."""
        return rule.public

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return "anonymous"


# The job or application that the request's URL names.
Subject = JobFacts | ApplicationFacts | None


@dataclass(frozen=True, slots=True)
class CompanyCaller:
    """A caller acting for a company: one of its keys, or a signed-in member.

    `job_role` is a member's role on the job that the request is about, if there is one. Only the
    jobs in `only_jobs` exist for a key that is limited to them; `is_on_job`: the request is about
    one of these.
    """

    company_id: UUID
    actor_id: UUID
    scopes: frozenset[str] = frozenset()  # of a key; empty for a member
    role: Role | None = None  # the member's for the whole company
    jobs: Mapping[UUID, JobRole] = field(default_factory=dict)  # the member's on single jobs
    job_role: JobRole | None = None
    is_test: bool = False  # of a sandbox
    subject: Subject = field(default=None, compare=False)  # if read together with the credential
    only_jobs: frozenset[UUID] | None = None  # None: all
    is_on_job: bool = False

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets this member or key act."""
        if self.only_jobs is not None:
            return rule.allows_limited_key(self.scopes, is_on_job=self.is_on_job)
        if self.is_key:
            return rule.allows_key(self.scopes)
        return rule.allows_member(self.role, self.job_role)

    @property
    def is_key(self) -> bool:
        """Return whether this is a key. Each has a scope."""
        return bool(self.scopes)

    @property
    def has_only_jobs(self) -> bool:
        """Return whether this is a member or key for whom only single jobs of the company exist."""
        return self.only_jobs is not None or (not self.is_key and self.role is None)

    def has_job(self, job_id: UUID) -> bool:
        """Return whether what is not public of a job of the company can exist for the caller."""
        if self.only_jobs is not None:
            return job_id in self.only_jobs
        return not self.has_only_jobs or job_id in self.jobs

    def is_unaware_of(self, rule: Rule) -> bool:
        """Return whether what a rule is about does not exist for who has only single jobs."""
        is_of_company = rule.role is not None
        if self.only_jobs is not None:
            return is_of_company and rule.is_read and not self.is_on_job
        return self.has_only_jobs and is_of_company and (rule.is_read or self.job_role is None)

    def jobs_allowing(self, action: Action) -> list[UUID] | None:
        """Return the jobs on which the caller may take an action; None: on all of the company's."""
        if self.only_jobs is not None:
            may = RULES[action].allows_limited_key(self.scopes, is_on_job=True)
            return list(self.only_jobs) if may else []
        return None if self.is_key else jobs_allowing(action, self.role, self.jobs)

    def on(self, job_id: UUID) -> CompanyCaller:
        """Return the caller with what they may do on a job."""
        if self.only_jobs is not None:
            return replace(self, is_on_job=job_id in self.only_jobs)
        return replace(self, job_role=self.jobs.get(job_id)) if self.jobs else self

    def sees(self, job_id: UUID, status: str) -> bool:
        """Return whether an application in this status exists for the caller."""
        if self.is_key:
            return self.has_job(job_id)
        return sees_application(self.role, self.jobs.get(job_id), status)

    @property
    def actor(self) -> Actor:
        """Return the caller as the actor of log events."""
        return Actor(ActorKind.COMPANY, self.actor_id)

    @property
    def producer(self) -> str:
        """Return the caller as the producer of tasks."""
        return f"{'key' if self.is_key else 'member'}:{self.actor_id}"

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return self.producer

    @property
    def key_id(self) -> UUID | None:
        """Return the key's id; None for a member."""
        return self.actor_id if self.is_key else None


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A caller who is an applicant with a proved email address."""

    applicant_id: UUID
    token_id: UUID | None = None  # the token's; None for a session
    subject: Subject = field(default=None, compare=False)  # if read together with the credential

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets applicants act."""
        return rule.applicant

    @property
    def actor(self) -> Actor:
        """Return the caller as the actor of log events."""
        return Actor(ActorKind.APPLICANT, self.applicant_id)

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return f"applicant:{self.applicant_id}"


@dataclass(frozen=True, slots=True)
class PortalCaller:
    """A company's own site, acting for one of its applicants, within that company only."""

    applicant_id: UUID
    company_id: UUID
    key_id: UUID  # of the company, which made the token
    is_test: bool = False  # of a sandbox
    subject: Subject = field(default=None, compare=False)  # if read together with the credential

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets a company's own site act for its applicants."""
        return rule.portal

    @property
    def actor(self) -> Actor:
        """Return the applicant as the actor of log events, who acts through the key."""
        return Actor(ActorKind.APPLICANT, self.applicant_id, via_key=self.key_id)

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return f"applicant:{self.applicant_id}/key:{self.key_id}"


Caller = AnonymousCaller | CompanyCaller | PersonCaller | PortalCaller


def caller_of(request: Request) -> Caller:
    """Return the caller of an authenticated request."""
    return cast(Caller, request.user)


def requester_of(request: Request) -> Requester:
    """Return who requests a code: through the API, a network, because there is no cookie."""
    return Requester(f"api {client_address(request)}", client_site(request))


CONFIRM = gettext_lazy(
    "Confirm who you are at /account/reauthenticate/ (or /account/2fa/reauthenticate/), then repeat"
    " this within ten minutes."
)
C = TypeVar("C")

# The prepared statements for what a URL names, by the name of its id in the URL.
_SUBJECTS: tuple[tuple[str, PreparedStatement[Any]], ...] = (
    ("job", JOB_FACTS),
    ("application", APPLICATION_FACTS),
)
_BEARER = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/=-]{1,200})")


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer …` with a company's API key, an applicant's token or a portal's."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in one query, or None without a credential.

        Raises AuthenticationFailed for a malformed, unknown, revoked or expired credential, even if
        the endpoint needs none: a caller who sends one expects it to count.
        """
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        bearer = _BEARER.fullmatch(header.strip())
        context = request.parser_context or {}
        is_without = request.method in getattr(context.get("view"), "without_facts", ())
        named = {} if is_without else context.get("kwargs", {})  # ids whose facts to read as well
        caller = _authenticate_secret(bearer[1], named) if bearer else None
        if caller is None:
            raise AuthenticationFailed
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication challenge for a 401."""
        return "Bearer"


class SessionAuthentication(BaseAuthentication):
    """The session cookie of a member of a company, or of an applicant, who has signed in."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in at most three queries, or None without a signed-in session.

        A member of several companies names one in the parameter `company` or the header X-Company,
        and always a sandbox.
        Raises ValidationError without it, NotFound if it is not one of theirs, and PermissionDenied
        for an unsafe method without a CSRF token.
        """
        browser = request._request
        user = get_user(browser)
        caller: Caller | None = None
        if isinstance(user, User):
            roles, sandboxes = team.read_roles_and_sandboxes(user.id)
            if not roles and (locked := locked_companies(user.id)):
                raise PermissionDenied(
                    _("%(company)s requires two-step verification: see /account/.")
                    % {"company": locked[0]}
                )
            if company_id := _session_company(request, list(roles), list(sandboxes)):
                role, on_jobs = (roles | sandboxes)[company_id]
                caller = CompanyCaller(
                    company_id,
                    user.id,
                    role=role,
                    jobs=on_jobs,
                    is_test=company_id in sandboxes,
                )
        if caller is None:
            applicant_id = signed_in_person_id(browser)
            if applicant_id is None or not person_exists(applicant_id):
                return None
            caller = PersonCaller(applicant_id)
        check = CSRFCheck(_csrf_answer)
        check.process_request(browser)
        if why := check.process_view(browser, _csrf_answer, (), {}):
            raise PermissionDenied(_("CSRF check failed: %(why)s") % {"why": why})
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication challenge for a 401."""
        return "Bearer"


def require_recent_authentication(request: Request) -> None:
    """Refuse a member who has not confirmed their identity recently. Raises PermissionDenied.

    A stranger who finds an open browser must not be able to create a key.
    """
    browser = request._request
    theirs, browser.user = browser.user, get_user(browser)
    try:
        if is_reauthentication_required(browser, app=""):
            raise PermissionDenied(CONFIRM)
    finally:
        browser.user = theirs


def _authenticate_secret(secret: str, address: Mapping[str, Any]) -> Caller | None:
    """Return the caller with this secret, and read what the URL names in the same round trip."""
    if secret.startswith(keys.PREFIX):
        digest = keys.digest(secret)
        for key, subject in _authenticated_credential_and_subject(FIND_KEY, digest, address):
            keys.note_use(key)
            return CompanyCaller(
                key.company_id,
                key.id,
                frozenset(key.scopes),
                is_test=keys.is_sandbox(secret),
                subject=subject,
                only_jobs=None if key.job_ids is None else frozenset(key.job_ids),
            )
    if secret.startswith(tokens.PREFIX):
        digest = tokens.digest(secret)
        for token, subject in _authenticated_credential_and_subject(FIND_TOKEN, digest, address):
            return PersonCaller(token.applicant_id, token.id, subject)
    if secret.startswith(portal_tokens.PREFIX):
        digest = tokens.digest(secret)
        for portal, subject in _authenticated_credential_and_subject(
            FIND_PORTAL_TOKEN, digest, address
        ):
            return PortalCaller(
                portal.applicant_id,
                portal.company_id,
                portal.key_id,
                keys.is_sandbox(portal.key_hint),
                subject,
            )
    return None


def _authenticated_credential_and_subject(
    credential: PreparedStatement[C], digest: bytes, address: Mapping[str, Any]
) -> list[tuple[C, Subject]]:
    statements: list[PreparedStatement[Any]] = [credential]
    parameters: dict[str, Any] = {"digest": digest}
    for name, statement in _SUBJECTS:
        if isinstance(address.get(f"{name}_id"), UUID):
            statements.append(statement)
            parameters[name] = address[f"{name}_id"]
    found = run_statements(statements, parameters)
    subject = found[-1][0] if len(found) > 1 and found[-1] else None
    return [(known, subject) for known in found[0]]


def _session_company(request: Request, theirs: list[UUID], sandboxes: list[UUID]) -> UUID | None:
    named = request.query_params.get("company") or request.META.get("HTTP_X_COMPANY")
    if named:
        company_id = parse_id(named)
        if company_id not in [*theirs, *sandboxes]:
            raise NotFound
        return company_id
    if len(theirs) > 1:
        refuse_parameter("company", _("You belong to several companies. Name the one you act for."))
    return theirs[0] if theirs else None


def _csrf_answer(_: HttpRequest) -> HttpResponse:
    return HttpResponse()


# Access to the API: the one place where a caller is allowed or refused. Without a credential: 401.
# With a credential that the table of permissions does not allow: 403. Anything that belongs to
# someone else, or that a member or key with single jobs cannot see: 404, as if it did not exist.


ONLY_PORTAL = (
    "A portal token can only read, acknowledge and withdraw the applications of its person to its"
    " company."
)


def authorize(caller: Caller, action: Action) -> None:
    """Check that a caller may take an action. Raises NotAuthenticated, PermissionDenied.

    Raises NotFound for a member or key with single jobs that do not include what it is about.
    """
    rule = RULES[action]
    if caller.is_allowed_by(rule):
        return
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    if isinstance(caller, CompanyCaller) and caller.is_unaware_of(rule):
        raise NotFound
    raise PermissionDenied(_missing_access_permission(rule, caller))


def authorize_company(caller: Caller, action: Action) -> CompanyCaller:
    """Return the caller, if they act for a company and may take the action."""
    authorize(caller, action)
    if not isinstance(caller, CompanyCaller):
        raise PermissionDenied(_("Only a company can do this."))
    return caller


def authorize_person(caller: Caller, action: Action) -> PersonCaller:
    """Return the caller, if they are an applicant and may take the action."""
    authorize(caller, action)
    if not isinstance(caller, PersonCaller):
        raise PermissionDenied(_("Only an applicant can do this."))
    return caller


def visible_job(caller: Caller, job_id: UUID) -> JobFacts:
    """Return a job that the caller can see.

    A draft is visible only to its own company, and so is a sandbox's job. Raises JobNotFound.
    """
    facts = getattr(caller, "subject", None)
    if not isinstance(facts, JobFacts):
        facts = read_job_facts(job_id)
    if not can_see_job(caller, facts):
        raise JobNotFound
    return facts


def can_see_job(caller: Caller, job: Job | JobFacts) -> bool:
    """Return whether a caller can see a job.

    A sandbox and everything outside it do not exist for each other.
    """
    if isinstance(caller, CompanyCaller | PortalCaller) and caller.company_id == job.company_id:
        return job.status != JobStatus.DRAFT or can_read_job(caller, job)
    is_from_test = isinstance(caller, CompanyCaller | PortalCaller) and caller.is_test
    return job.status != JobStatus.DRAFT and not job.is_test and not is_from_test


def can_read_job(caller: Caller, job: Job | JobFacts) -> bool:
    """Return whether a caller acts for the job's company, and may read what is not public of it."""
    if not isinstance(caller, CompanyCaller) or caller.company_id != job.company_id:
        return False
    return caller.on(job.id).is_allowed_by(RULES[Action.READ_JOB])


def represents_company(caller: Caller, company_id: UUID) -> bool:
    """Return whether a caller acts for that company, whatever they may do there."""
    return isinstance(caller, CompanyCaller) and caller.company_id == company_id


def own_job(caller: Caller, job_id: UUID, action: Action) -> tuple[CompanyCaller, JobFacts]:
    """Return a job of the caller's company, if the caller may take the action."""
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    facts = visible_job(caller, job_id)
    if isinstance(caller, CompanyCaller):
        if caller.company_id != facts.company_id or not caller.has_job(job_id):
            raise JobNotFound
        caller = caller.on(job_id)
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
    return authorize_company(on_job(caller, facts.job_id), action), facts


def visible_application(
    caller: Caller, application_id: UUID, action: Action = Action.READ_APPLICATION
) -> ApplicationFacts:
    """Return an application that the caller sent or received, if they may take the action."""
    facts = _accessible_application(caller, application_id)
    authorize(on_job(caller, facts.job_id), action)
    return facts


def on_job(caller: Caller, job_id: UUID) -> Caller:
    """Return the caller with what a member, or a key that is limited to jobs, may do on a job."""
    return caller.on(job_id) if isinstance(caller, CompanyCaller) else caller


def visible_applicant(caller: Caller, applicant_id: UUID) -> Applicant:
    """Return the caller, or one of their company's applicants. Raises ApplicantNotFound."""
    authorize(caller, Action.READ_APPLICANT)
    if isinstance(caller, CompanyCaller):
        return read_known_person(caller.company_id, applicant_id)
    if not represents_person(caller, applicant_id):
        raise ApplicantNotFound
    if isinstance(caller, PortalCaller):
        return read_known_person(caller.company_id, applicant_id)
    return read_person(applicant_id)


def visible_company(caller: Caller) -> UUID | None:
    """Return the company whose jobs a caller may see when reading a person; None for all."""
    return caller.company_id if isinstance(caller, CompanyCaller | PortalCaller) else None


def can_see_application(
    caller: Caller,
    row: ApplicationFacts | ApplicationRow | Application,
    company_id: UUID,
    *,
    is_test: bool,
) -> bool:
    """Return whether a caller sent or received an application; a portal, both.

    Nobody sends an application to a sandbox: its company puts every one of them there.
    """
    if isinstance(caller, CompanyCaller):
        return caller.company_id == company_id and caller.sees(row.job_id, row.status)
    if isinstance(caller, PersonCaller) and is_test:
        return False
    if isinstance(caller, PortalCaller) and caller.company_id != company_id:
        return False
    return represents_person(caller, row.applicant_id)


def represents_person(caller: Caller, applicant_id: UUID) -> bool:
    """Return whether a caller is that applicant, here or on a company's own site."""
    return isinstance(caller, PersonCaller | PortalCaller) and caller.applicant_id == applicant_id


def _accessible_application(caller: Caller, application_id: UUID) -> ApplicationFacts:
    if isinstance(caller, AnonymousCaller):
        raise NotAuthenticated
    facts = caller.subject
    if not isinstance(facts, ApplicationFacts):
        facts = application_facts(application_id)
    if not can_see_application(caller, facts, facts.company_id, is_test=facts.is_test):
        raise ApplicationNotFound
    return facts


def _missing_access_permission(
    rule: Rule, caller: CompanyCaller | PersonCaller | PortalCaller
) -> str:
    """Return the reason why a caller with a credential cannot take an action."""
    if isinstance(caller, PortalCaller):
        return ONLY_PORTAL
    if isinstance(caller, PersonCaller):
        return _("Only a company can do this.")
    if caller.is_key and rule.scope is not None:
        if caller.only_jobs is not None and rule.allows_key(caller.scopes):
            return _("This needs a key for the whole company; this one is for some jobs only.")
        needed = _("This needs a key with the scope '%(scope)s'.")
        return needed % {"scope": rule.scope.value}
    return _missing_role(rule, caller)


def _missing_role(rule: Rule, caller: CompanyCaller) -> str:
    if rule.role is None:
        if rule.scope:
            return _("Only a key can do this.")
        return _("Only an applicant can do this.")
    if caller.is_key:
        return _("Only an owner who is signed in can do this; a key cannot.")
    if rule.role is Role.OWNER:
        return _("Only an owner of the company can do this.")
    return _("Your role in the company does not allow this.")
