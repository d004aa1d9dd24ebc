"""Access to pages: the one place where people are allowed or refused.

People who are not signed in go to sign-in and then return. Anything that belongs to someone else,
or that a member with single jobs cannot see: 404, as if it did not exist. A page of one's own
company, or an action on one's own job, that the role does not allow: 403, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils.translation import gettext as _

from applicants import browser
from applicants.browser import signed_in_person_id
from applicants.models import Applicant
from applicants.texts import folded_name
from jobs.models import Company, Job, JobRole, JobStatus, Membership, Role, User
from jobs.team import Roles, locked_companies, open_memberships
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.domain.permissions import RULES, Action, jobs_allowing, sees_application
from pipeline.domain.states import Actor, ActorKind
from pipeline.pages import kept_form, page_urls
from pipeline.selectors.applications import SeenApplication, read_application
from pipeline.selectors.jobs import read_job
from pipeline.selectors.people import read_person
from pipeline.web.addresses import is_client_developer
from pipeline.wording.english import isolated

P = ParamSpec("P")
T = TypeVar("T")
# The session key of the company that the member acts for.
COMPANY = "company_id"
# The names in an address of what belongs to one job, whose page asks again in `own_job` or
# `received_application`.
_OF_ONE_JOB = frozenset({"job_id", "application_id"})
GUARD = "guarded_by"  # the name on a view of the action that it asks for first
# The names on a request of the action that guards its page, and of the job that it is about.
_ASKED, _JOB = "_asked_action", "_job_of_page"


@dataclass(frozen=True, slots=True)
class Member:
    """A staff account that acts for a company, or on single jobs of it.

    `job_role` is the role on the job that the page is about, if there is one.
    """

    user: User
    company: Company
    role: Role | None
    jobs: Mapping[UUID, JobRole] = field(default_factory=dict)
    job_role: JobRole | None = None

    @property
    def actor(self) -> Actor:
        """Return the member as the actor of log events."""
        return Actor(ActorKind.COMPANY, self.user.id)

    def may(self, action: Action) -> bool:
        """Return whether the table of permissions allows the member an action.

        On the job that the page is about, if it is about one, else in the whole company.
        """
        return RULES[action].allows_member(self.role, self.job_role)

    def may_somewhere(self, action: Action) -> bool:
        """Return whether the table allows the member an action in the company or on some job."""
        return any(RULES[action].allows_member(self.role, on) for on in {None, *self.jobs.values()})

    def on(self, job_id: UUID) -> Member:
        """Return the member with the role that they have on a job."""
        return replace(self, job_role=self.jobs.get(job_id)) if self.jobs else self

    def jobs_allowing(self, action: Action) -> list[UUID] | None:
        """Return the jobs on which the member may take an action; None: on all of the company's."""
        return jobs_allowing(action, self.role, self.jobs)

    @property
    def sees_line(self) -> bool:
        """Return whether to show templates' links to everything about the job of the page."""
        return self.may(Action.READ_JOB)

    @property
    def sees_company(self) -> bool:
        """Return whether to show templates' links to what goes beyond single jobs."""
        return self.may(Action.READ_COMPANY)

    @property
    def role_label(self) -> str:
        """Return the name of the role."""
        return str(self.role.label) if self.role else _("Single jobs")

    @property
    def is_recruiter(self) -> bool:
        """Return whether to show templates' buttons for daily work."""
        return self.may(Action.MANAGE_TASKS)

    @property
    def is_owner(self) -> bool:
        """Return whether to show templates' buttons for owners."""
        return self.may(Action.MANAGE_TEAM)


def once_per_request(read: Callable[[HttpRequest], T]) -> Callable[[HttpRequest], T]:
    """Read a value once per request, at its first use."""
    name = f"_{read.__name__}"

    @wraps(read)
    def read_kept_access(request: HttpRequest) -> T:
        kept = request.__dict__
        if name not in kept:
            kept[name] = read(request)
        return kept[name]

    return read_kept_access


@once_per_request
def current_applicant(request: HttpRequest) -> Applicant | None:
    """Return the applicant who is signed in, in at most one query per request."""
    applicant_id = signed_in_person_id(request)
    try:
        return read_person(applicant_id) if applicant_id else None
    except ApplicantNotFound:
        return None


def linked_applicant(request: HttpRequest, application_id: UUID) -> Applicant | None:
    """Return the applicant whose emailed link opened this one application in the browser."""
    applicant_id = browser.linked_person_id(request, application_id)
    try:
        return read_person(applicant_id) if applicant_id else None
    except ApplicantNotFound:
        return None


@once_per_request
def current_memberships(request: HttpRequest) -> list[Membership]:
    """Return the memberships of the signed-in staff account, by company name.

    Empty if nobody is signed in. Companies that require a second step which the account lacks are
    left out, and so are sandboxes. At most one query per request.
    """
    if not request.user.is_authenticated:
        return []
    theirs = open_memberships().filter(user=request.user)
    whole = theirs.select_related("company__letterhead", "company__sandbox", "user")
    return sorted(whole, key=lambda row: (folded_name(row.company.name), row.company_id))


@once_per_request
def current_sandbox_memberships(request: HttpRequest) -> list[Membership]:
    """Return the signed-in account's memberships in the companies' sandboxes.

    They are not stored: the company's members have the same roles in its sandbox.
    """
    return [
        Membership(company=each.company.sandbox, user=each.user, role=each.role)
        for each in current_memberships(request)
        if each.role and hasattr(each.company, "sandbox")
    ]


def current_member(request: HttpRequest) -> Member | None:
    """Return the signed-in staff account for the company it last chose, or else its first.

    On a page of one job, with the role that the member has there.
    """
    theirs = current_memberships(request)
    everywhere = [*theirs, *current_sandbox_memberships(request)]
    chosen = [m for m in everywhere if str(m.company_id) == request.session.get(COMPANY)]
    if not theirs:
        return None
    member, job_id = _build_member((chosen or theirs)[0]), request.__dict__.get(_JOB)
    return member.on(job_id) if job_id else member


def form_member(request: HttpRequest) -> Member | None:
    """Return the staff account, acting for the company whose page held the submitted form.

    The account may have switched companies in another window since. A form that names no company
    belongs to the current one.
    """
    named = request.POST.get(COMPANY)
    if named is None:
        return current_member(request)
    everywhere = [*current_memberships(request), *current_sandbox_memberships(request)]
    found = next((m for m in everywhere if str(m.company_id) == named), None)
    return switch_current_member(request, found.company_id) if found else None


def switch_current_member(request: HttpRequest, company_id: UUID) -> Member | None:
    """Switch the staff account to a company, and return it as that company's member."""
    for membership in [*current_memberships(request), *current_sandbox_memberships(request)]:
        if membership.company_id == company_id:
            if request.session.get(COMPANY) != str(company_id):
                request.session[COMPANY] = str(company_id)
            return _build_member(membership)
    return None


def for_signed_in_applicants(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page for applicants who have proved their address. Others sign in first."""

    @wraps(view)
    def guarded_for_signed_in_applicant(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if current_applicant(request) is None:
            return _to_sign_in(request, "sign_in")
        return view(request, *args, **kwargs)

    return guarded_for_signed_in_applicant


def for_applicants(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page as above, but open those of one application to its emailed link, too.

    That link may have been forwarded. So pages that end an application or speak to the company in
    the person's name are `for_signed_in_applicants`.
    """
    guarded = for_signed_in_applicants(view)

    @wraps(view)
    def guarded_for_applicant(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        application_id = kwargs.get("application_id")
        if isinstance(application_id, UUID) and linked_applicant(request, application_id):
            return view(request, *args, **kwargs)
        return guarded(request, *args, **kwargs)

    return guarded_for_applicant


def for_members(
    action: Action | None = None,
) -> Callable[
    [Callable[Concatenate[HttpRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Guard a page for members who may take an action; without one, who may read what it shows.

    A page of one job asks again for that job in `own_job` or `received_application`, which check
    this action, too. Others sign in first. Raises PermissionDenied (403), or Http404 for members
    with single jobs.
    """

    def guard_for_members(
        view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def guarded_for_member(
            request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_sign_in(request, "account_login")
            member = current_member(request)
            if member is None and locked_companies(request.user.id):
                return redirect("account")  # the page that says that a second step is needed
            if member is None or not _OF_ONE_JOB & kwargs.keys():
                require_permission(member, action or Action.READ_COMPANY)
            elif action and not member.may_somewhere(action):
                require_permission(member, action)
            request.__dict__[_ASKED] = action
            return view(request, *args, **kwargs)

        guarded_for_member.__dict__[GUARD] = action
        return guarded_for_member

    return guard_for_members


def _to_sign_in(request: HttpRequest, name: str) -> HttpResponseBase:
    """Redirect to a page of sign-in; a form whose session has ended stays with what was typed."""
    answer = redirect_to_login(request.get_full_path(), resolve_url(name))
    if fields := kept_form.read_fields(request):
        return kept_form.show(request, fields, sign_in_url=answer.url)
    return answer


def require_permission(member: Member | None, action: Action) -> Member:
    """Return the member, if they may take the action. Raises PermissionDenied.

    Raises Http404 for a member with single jobs, unless they see the job that the page is about.
    """
    if member is None:
        raise PermissionDenied(_("Your account belongs to no company. Ask an owner to add you."))
    if member.may(action):
        return member
    rule = RULES[action]
    if member.role is None and (rule.is_read or member.job_role is None):
        raise Http404
    only = (
        _("Only an owner of %(company)s can do this.")
        if rule.role is Role.OWNER
        else _("Only a recruiter or an owner of %(company)s can do this.")
    )
    raise PermissionDenied(only % {"company": isolated(member.company.name)})


def own_job(
    request: HttpRequest, job_id: UUID, action: Action = Action.READ_JOB
) -> tuple[Member, Job]:
    """Return a job that the member may see, and the member acting for its company.

    Raises JobNotFound (404), PermissionDenied.
    """
    job = read_job(job_id)
    member = switch_current_member(request, job.company_id)
    if member is None:
        raise JobNotFound
    member = member.on(job.id)
    if not member.may(Action.READ_APPLICATION):
        raise JobNotFound
    return _require_on_job(request, member, job.id, action), job


def chosen_job(request: HttpRequest, member: Member) -> Job | None:
    """Return the company's job to which an address limits a list, in `?job=`; None for all jobs."""
    job_id = page_urls.read_id(request, "job")
    with suppress(JobNotFound):
        job = read_job(job_id) if job_id else None
        return job if job and job.company_id == member.company.id else None
    return None


def received_application(
    request: HttpRequest, application_id: UUID, action: Action = Action.READ_APPLICATION
) -> tuple[Member, SeenApplication]:
    """Return an application that the member may see. Raises ApplicationNotFound (404)."""
    seen = read_application(application_id)
    member = switch_current_member(request, seen.company_id)
    if member is None:
        raise ApplicationNotFound
    member = member.on(seen.application.job_id)
    if not sees_application(member.role, member.job_role, seen.application.status):
        raise ApplicationNotFound
    return _require_on_job(request, member, seen.application.job_id, action), seen


def _require_on_job(request: HttpRequest, member: Member, job_id: UUID, action: Action) -> Member:
    """Return the member, if they may take the action, and the one that guards the page."""
    request.__dict__[_JOB] = job_id
    require_permission(member, action)
    return require_permission(member, request.__dict__.get(_ASKED) or action)


def own_application(
    request: HttpRequest, application_id: UUID
) -> tuple[Applicant, SeenApplication]:
    """Return an application of the signed-in applicant, or of the emailed link that opened it.

    Raises ApplicationNotFound (404). Those in sandboxes are not theirs, because a company put them
    there.
    """
    person = current_applicant(request) or linked_applicant(request, application_id)
    seen = read_application(application_id)
    if person is None or person.id != seen.application.applicant_id or seen.is_test:
        raise ApplicationNotFound
    return person, seen


def is_guarded_for_members(request: HttpRequest) -> bool:
    """Return whether the page of a request is one for members only."""
    return _ASKED in request.__dict__


def sees_own_job(request: HttpRequest, job: Job) -> bool:
    """Return whether a member of the job's company reads the page, who may see the job's line."""
    theirs = [each for each in current_memberships(request) if each.company_id == job.company_id]
    return any(_build_member(each).on(job.id).may(Action.READ_JOB) for each in theirs)


def public_job(request: HttpRequest, job_id: UUID) -> Job:
    """Return a public job; a draft or a sandbox's only for its own company.

    Raises JobNotFound (404).
    """
    job = read_job(job_id)
    if job.status == JobStatus.DRAFT or job.is_test:
        member = switch_current_member(request, job.company_id)
        if member is None or not member.on(job.id).may(Action.READ_JOB):
            raise JobNotFound
    return job


def require_developer(request: HttpRequest) -> None:
    """Refuse all but a developer at the machine of a site without a mail server. Raises 404."""
    if not (settings.DEV_MAIL and is_client_developer(request)):
        raise Http404


def _build_member(membership: Membership) -> Member:
    kept = Roles.read(membership.role, getattr(membership, "job_roles", ()))  # not a sandbox's
    return Member(membership.user, membership.company, kept.role, kept.jobs)
