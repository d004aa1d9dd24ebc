"""A company's team: who is in it, with which role."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jobs.errors import AlreadyMember, LastOwner, MemberNotFound
from jobs.models import Membership, Role
from jobs.selectors import member_of, team_of
from jobs.services import add_member, change_role, remove_member
from pipeline.domain.permissions import Action
from pipeline.limits.rate_limit import Rate, count
from pipeline.pages.access import Member, current_member, for_members, member_who_sent, require
from pipeline.pages.staff.emails import tell_new_member
from pipeline.pages.staff.forms import ROLES, AddMemberForm, RoleForm

MAILS = Rate(60, 3_600)
"""How many people a company may add, each of whom gets a mail."""
LAST_OWNER = (
    "This is the last owner. Make somebody else an owner first: without one nobody could manage"
    " the company."
)


@require_http_methods(["GET", "POST"])
@for_members()
def team(request: HttpRequest) -> HttpResponse:
    """The members; owners add people here."""
    member = require(member_who_sent(request), Action.READ_COMPANY)
    form = AddMemberForm(request.POST or None)
    if request.method == "POST":
        require(member, Action.MANAGE_TEAM)
        if form.is_valid() and _add(request, member, form):
            return redirect("team")
    context = {"form": form, "team": team_of(member.company.id), "roles": ROLES}
    return render(request, "staff/team.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TEAM)
def team_member(request: HttpRequest, membership_id: int) -> HttpResponse:
    """One member: another role, or out of the team."""
    owner = require(current_member(request), Action.MANAGE_TEAM)
    try:
        colleague = member_of(owner.company.id, membership_id)
        if request.method == "POST":
            return _change(request, owner, colleague)
    except MemberNotFound:
        raise Http404 from None
    return _show(request, owner, colleague, RoleForm(initial={"role": colleague.role}))


def _add(request: HttpRequest, owner: Member, form: AddMemberForm) -> bool:
    if not count("member_mail", str(owner.company.id), MAILS).allowed:
        form.add_error(None, "Many people were added within the hour. Wait a while.")
        return False
    given = form.cleaned_data
    try:
        added = add_member(
            company_id=owner.company.id, email=given["email"], role=Role(given["role"])
        )
    except AlreadyMember:
        form.add_error("email", "Somebody with this address is in the team already.")
        return False
    except ValidationError as error:
        form.add_error("email", error)
        return False
    tell_new_member(added)
    messages.success(
        request, f"{added.user.email} is in the team now. A mail tells how to sign in."
    )
    return True


def _change(request: HttpRequest, owner: Member, colleague: Membership) -> HttpResponse:
    if "remove" in request.POST:
        return _attempt(request, colleague, lambda: _remove(request, owner, colleague))
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _show(request, owner, colleague, form)
    role = Role(form.cleaned_data["role"])
    return _attempt(request, colleague, lambda: _give_role(request, owner, colleague, role))


def _attempt(
    request: HttpRequest, colleague: Membership, act: Callable[[], HttpResponse]
) -> HttpResponse:
    try:
        return act()
    except LastOwner:
        messages.error(request, LAST_OWNER)
        return redirect("team_member", colleague.id)


def _give_role(
    request: HttpRequest, owner: Member, colleague: Membership, role: Role
) -> HttpResponse:
    change_role(company_id=owner.company.id, membership_id=colleague.id, role=role)
    messages.success(request, f"{colleague.user.email} is {role.label.lower()} now.")
    return redirect("team")


def _remove(request: HttpRequest, owner: Member, colleague: Membership) -> HttpResponse:
    remove_member(company_id=owner.company.id, membership_id=colleague.id)
    messages.success(request, f"{colleague.user.email} is out of the team of {owner.company.name}.")
    return redirect("account" if colleague.user_id == owner.user.id else "team")


def _show(request: HttpRequest, owner: Member, colleague: Membership, form: Form) -> HttpResponse:
    context = {
        "form": form,
        "colleague": colleague,
        "is_self": colleague.user_id == owner.user.id,
        "is_last_owner": colleague.role == Role.OWNER and _owners(owner) == 1,
    }
    return render(request, "staff/member.html", context, status=422 if form.errors else 200)


def _owners(owner: Member) -> int:
    owners = Membership.objects.filter(company=owner.company, role=Role.OWNER)
    return owners.count()
