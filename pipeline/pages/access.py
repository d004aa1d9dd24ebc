"""Access to pages: the one place where people are allowed or refused.

People who are not signed in go to sign-in and then return. Anything that belongs to someone else:
404, as if it did not exist. A page of one's own company that the role does not allow: 403, with the
reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, resolve_url

from applicants import browser
from applicants.browser import signed_in_person_id
from applicants.models import Applicant
from jobs.models import Company, Job, JobStatus, Membership, Role, User
from jobs.team import locked_companies, open_memberships
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.domain.permissions import RULES, Action
from pipeline.domain.states import Actor, ActorKind
from pipeline.pages import kept_form
from pipeline.selectors.applications import SeenApplication, read_application
from pipeline.selectors.jobs import read_job
from pipeline.selectors.people import read_person
from pipeline.web.addresses import is_client_developer
from pipeline.wording.english import isolated

P = ParamSpec("P")
T = TypeVar("T")
# The session key of the company that the member acts for.
COMPANY = "company_id"


@dataclass(frozen=True, slots=True)
class Member:
    """A staff account that acts for a company."""

    user: User
    company: Company
    role: Role

    @property
    def actor(self) -> Actor:
        """Return the member as the actor of log events."""
        return Actor(ActorKind.COMPANY, self.user.id)

    def may(self, action: Action) -> bool:
        """Return whether the table of permissions allows the member an action."""
        return RULES[action].allows_member(self.role)

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
    return list(whole.order_by("company__name", "company_id"))


@once_per_request
def current_sandbox_memberships(request: HttpRequest) -> list[Membership]:
    """Return the signed-in account's memberships in the companies' sandboxes.

    They are not stored: the company's members have the same roles in its sandbox.
    """
    return [
        Membership(company=each.company.sandbox, user=each.user, role=each.role)
        for each in current_memberships(request)
        if hasattr(each.company, "sandbox")
    ]


def current_member(request: HttpRequest) -> Member | None:
    """Return the signed-in staff account for the company it last chose, or else its first."""
    theirs = current_memberships(request)
    everywhere = [*theirs, *current_sandbox_memberships(request)]
    chosen = [m for m in everywhere if str(m.company_id) == request.session.get(COMPANY)]
    return _build_member((chosen or theirs)[0]) if theirs else None


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
    action: Action = Action.READ_COMPANY,
) -> Callable[
    [Callable[Concatenate[HttpRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Guard a page for members of a company. A job's page checks again for the job's company.

    Others sign in first. Raises PermissionDenied (403) without the permission.
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
            require_permission(member, action)
            return view(request, *args, **kwargs)

        return guarded_for_member

    return guard_for_members


def _to_sign_in(request: HttpRequest, name: str) -> HttpResponseBase:
    """Redirect to a page of sign-in; a form whose session has ended stays with what was typed."""
    answer = redirect_to_login(request.get_full_path(), resolve_url(name))
    if fields := kept_form.read_fields(request):
        return kept_form.show(request, fields, sign_in_url=answer.url)
    return answer


def require_permission(member: Member | None, action: Action) -> Member:
    """Return the member, if they may take the action. Raises PermissionDenied."""
    if member is None:
        raise PermissionDenied("Your account belongs to no company. Ask an owner to add you.")
    if not member.may(action):
        needed = "an owner" if RULES[action].role is Role.OWNER else "a recruiter or an owner"
        raise PermissionDenied(f"Only {needed} of {isolated(member.company.name)} can do this.")
    return member


def own_job(
    request: HttpRequest, job_id: UUID, action: Action = Action.READ_COMPANY
) -> tuple[Member, Job]:
    """Return a job of one of the member's companies, and the member acting for that company.

    Raises JobNotFound (404), PermissionDenied.
    """
    job = read_job(job_id)
    member = switch_current_member(request, job.company_id)
    if member is None:
        raise JobNotFound
    return require_permission(member, action), job


def received_application(
    request: HttpRequest, application_id: UUID, action: Action = Action.READ_COMPANY
) -> tuple[Member, SeenApplication]:
    """Return an application to one of the member's companies. Raises ApplicationNotFound (404)."""
    seen = read_application(application_id)
    member = switch_current_member(request, seen.company_id)
    if member is None:
        raise ApplicationNotFound
    return require_permission(member, action), seen


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


def public_job(request: HttpRequest, job_id: UUID) -> Job:
    """Return a public job; a draft or a sandbox's only for its own company.

    Raises JobNotFound (404).
    """
    job = read_job(job_id)
    is_public = job.status != JobStatus.DRAFT and not job.is_test
    if not is_public and switch_current_member(request, job.company_id) is None:
        raise JobNotFound
    return job


def require_developer(request: HttpRequest) -> None:
    """Refuse all but a developer at the machine of a site without a mail server. Raises 404."""
    if not (settings.DEV_MAIL and is_client_developer(request)):
        raise Http404


def _build_member(membership: Membership) -> Member:
    return Member(membership.user, membership.company, Role(membership.role))
