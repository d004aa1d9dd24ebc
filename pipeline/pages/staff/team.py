"""A company's team: its members and their roles."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from applicants.mail import post_private_email
from jobs import keys
from jobs.companies import require_second_step
from jobs.errors import AlreadyMember, LastOwner, MemberNotFound, SecondStepMissing
from jobs.models import Membership, Role, User
from jobs.team import (
    add_member,
    change_role,
    read_job_roles,
    read_member,
    read_members,
    remove_member,
)
from pipeline.attachments.uploads import used_bytes
from pipeline.domain.permissions import Action
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.staff.forms import NEW_ROLES, AddMemberForm, MemberRoleForm
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate
from pipeline.wording.english import isolated

MAILS = Rate(60, 3_600)  # emails per hour to people whom a company adds, repeated ones included
TOO_MANY_MAILS = gettext_lazy("Too many people were emailed in the last hour. Try again later.")
SAME_TEAM = gettext_lazy(
    "A sandbox has the same team as its company. Leave test mode to see the team or change it."
)
# The share of the room for files at which the page says what to do.
NEARLY_FULL = 0.9

LAST_OWNER = gettext_lazy(
    "This is the last owner. Make someone else an owner first, so that the company can still be"
    " managed."
)

OWN_STEP_FIRST = gettext_lazy(
    "Add a passkey or an authenticator app to your own account first. Otherwise you could not come"
    " back to this page."
)


@require_http_methods(["GET", "POST"])
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List the members; let owners add people. A sandbox has the members of its live company."""
    member = require_permission(form_member(request), Action.READ_COMPANY)
    if member.company.is_test:
        messages.info(request, SAME_TEAM)
        return redirect("test_mode")
    form = AddMemberForm(request.POST or None)
    if request.method == "POST":
        require_permission(member, Action.MANAGE_TEAM)
        if form.is_valid() and _add_member(request, member, form):
            return redirect("team")
    used, most = used_bytes(member.company.id), settings.ATTACHMENT_BYTES_PER_COMPANY
    context = {
        "form": form,
        "team": read_members(member.company.id),
        "role_names": [*Role.choices, (MemberRoleForm.SINGLE_JOBS, _("Single jobs"))],
        "files_used": used,
        "files_most": most,
        "files_nearly_full": used >= NEARLY_FULL * most,
    }
    return render(request, "staff/team.html", context, status=422 if form.errors else 200)


@require_POST
@for_members()
def change_second_step(request: HttpRequest) -> HttpResponse:
    """Require a second step from all members of the company, or make it optional again."""
    owner = require_permission(form_member(request), Action.MANAGE_TEAM)
    if owner.company.is_test:
        messages.info(request, SAME_TEAM)
        return redirect("test_mode")
    required = request.POST.get("required") == "yes"
    try:
        require_second_step(company_id=owner.company.id, required=required, by=owner.user.id)
    except SecondStepMissing:
        messages.error(request, OWN_STEP_FIRST)
        return redirect("team")
    messages.success(
        request,
        _("Two-step verification is now required.")
        if required
        else _("Two-step verification is now optional for each member."),
    )
    return redirect("team")


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TEAM)
def show_member(request: HttpRequest, membership_id: int) -> HttpResponse:
    """Show one member; let owners change the role or remove the member."""
    owner = require_permission(current_member(request), Action.MANAGE_TEAM)
    try:
        colleague = read_member(owner.company.id, membership_id)
        if request.method == "POST":
            return _change_member(request, owner, colleague)
    except MemberNotFound:
        raise Http404 from None
    initial = {"role": colleague.role or MemberRoleForm.SINGLE_JOBS}
    return _member_page(request, owner, colleague, MemberRoleForm(initial=initial))


def _add_member(request: HttpRequest, owner: Member, form: AddMemberForm) -> bool:
    if not may_email_member(owner):
        form.add_error(None, TOO_MANY_MAILS)
        return False
    given = form.cleaned_data
    try:
        added = add_member(
            company_id=owner.company.id,
            email=given["email"],
            role=Role(given["role"]),
            by=owner.user.id,
        )
    except AlreadyMember:
        form.add_error("email", _("This person is already in the team."))
        return False
    except ValidationError as error:
        form.add_error("email", error)
        return False
    tell_new_member(added, by=owner.user)
    words = _("%(email)s added. We have emailed them how to sign in.")
    messages.success(request, words % {"email": added.user.email})
    return True


def may_email_member(owner: Member) -> bool:
    return rate_limit.count("member_mail", str(owner.company.id), MAILS).allowed


def _change_member(request: HttpRequest, owner: Member, colleague: Membership) -> HttpResponse:
    """Remove a member, change their role, or email them again how to sign in.

    Refuses to leave the company without an owner.
    """
    if "again" in request.POST:
        if may_email_member(owner):
            tell_new_member(colleague, by=owner.user)
            again = _("We have emailed %(email)s again.")
            messages.success(request, again % {"email": colleague.user.email})
        else:
            messages.error(request, TOO_MANY_MAILS)
        return redirect("team")
    removes = "remove" in request.POST
    form = MemberRoleForm(request.POST)
    if not removes and not form.is_valid():
        return _member_page(request, owner, colleague, form)
    company, email = owner.company, colleague.user.email
    try:
        if removes:
            remove_member(company_id=company.id, membership_id=colleague.id, by=owner.user.id)
            done = _("%(email)s removed from the team of %(company)s.")
            messages.success(request, done % {"email": email, "company": isolated(company.name)})
            return redirect("account" if colleague.user_id == owner.user.id else "team")
        role: Role | None = form.cleaned_data["role"]
        change_role(company_id=company.id, membership_id=colleague.id, role=role, by=owner.user.id)
        messages.success(request, _describe_new_role(role, colleague.user.shown_name))
        return redirect("team")
    except LastOwner:
        messages.error(request, LAST_OWNER)
        return redirect("team_member", colleague.id)


def _describe_new_role(role: Role | None, name: str) -> str:
    return NEW_ROLES[role] % {"name": isolated(name)}


def _member_page(
    request: HttpRequest, owner: Member, colleague: Membership, form: Form
) -> HttpResponse:
    owners = Membership.objects.filter(company=owner.company, role=Role.OWNER)
    context = {
        "form": form,
        "colleague": colleague,
        "is_self": colleague.user_id == owner.user.id,
        "is_last_owner": colleague.role == Role.OWNER and owners.count() == 1,
        "job_roles": read_job_roles(colleague.id),
        "keys_made": keys.read_made_by(owner.company.id, colleague.user_id),
    }
    return render(request, "staff/member.html", context, status=422 if form.errors else 200)


# Emails about a company's team.


def tell_new_member(member: Membership, *, by: User) -> None:
    """Tell a new member by email which company and person added them, and how to sign in."""
    context = {
        "member": member,
        "by": f"{by.name} ({by.email})" if by.name else by.email,
        "sign_in_url": settings.SITE_URL + reverse("account_request_login_code"),
    }
    text = render_to_string("staff/added_mail.txt", context)
    post_private_email(
        to=member.user.email,
        subject=_("You have joined the team of %(company)s") % {"company": member.company.name},
        text=text,
    )
