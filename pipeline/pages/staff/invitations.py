"""Pages of invitation links: to make and withdraw them, and to join a team by one."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from allauth.account.internal.flows.login_by_code import LoginCodeVerificationProcess
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from jobs import accounts, invitations
from jobs.errors import InvitationNotFound, TooManyInvitations, TooManyOnJob
from jobs.models import Invitation, Job, JobRole, Role, User
from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import Member, for_members, form_member, own_job, require_permission
from pipeline.pages.staff.forms import JobLinkForm, LinkForm, TeamLinkForm
from pipeline.pages.staff.sign_in_forms import JoinForm
from pipeline.pages.staff.team import SAME_TEAM
from pipeline.wording.english import isolated


@never_cache
@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TEAM)
def index(request: HttpRequest) -> HttpResponse:
    """List the links that work, and make one; for `?job=` one to a role on that job.

    The response to the form shows the link. It is stored nowhere, so it is gone with the page.
    """
    owner = require_permission(form_member(request), Action.MANAGE_TEAM)
    if owner.company.is_test:
        messages.info(request, SAME_TEAM)
        return redirect("test_mode")
    job = _named_job(request)
    kind: type[LinkForm] = JobLinkForm if job else TeamLinkForm
    form = kind(request.POST or None)
    if form.is_valid():
        try:
            row, secret = _make(owner, job, form)
        except TooManyInvitations:
            full = _("You have %(most)d open links. Withdraw one first.")
            form.add_error(None, full % {"most": invitations.MOST_OPEN})
        else:
            link = settings.SITE_URL + reverse("join", args=[secret])
            context = {"member": owner, "row": row, "job": job, "link": link}
            return render(request, "staff/invitation_made.html", context, status=201)
    context = {
        "member": owner,
        "job": job,
        "form": form,
        "links": invitations.read_open(owner.company.id),
    }
    return render(request, "staff/invitations.html", context, status=422 if form.errors else 200)


def _named_job(request: HttpRequest) -> Job | None:
    job_id = page_urls.read_id(request, "job")
    return own_job(request, job_id, Action.MANAGE_TEAM)[1] if job_id else None


def _make(owner: Member, job: Job | None, form: LinkForm) -> tuple[Invitation, str]:
    given = form.cleaned_data
    what: dict[str, Any] = (
        {"job_id": job.id, "job_role": JobRole(given["job_role"])}
        if job
        else {"role": Role(given["role"])}
    )
    return invitations.create(
        company_id=owner.company.id,
        by=owner.user.id,
        days=given["days"],
        uses=given["uses"],
        **what,
    )


@require_POST
@for_members(Action.MANAGE_TEAM)
def withdraw(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    """End a link at once."""
    owner = require_permission(form_member(request), Action.MANAGE_TEAM)
    try:
        invitations.withdraw(
            company_id=owner.company.id, invitation_id=invitation_id, by=owner.user.id
        )
    except InvitationNotFound:
        raise Http404 from None
    messages.success(request, _("The link no longer works."))
    return redirect("invitations")


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a link invites to; on POST, join, or first sign in with an emailed code."""
    try:
        found = invitations.find(token)
        if isinstance(request.user, User):
            return _join_as(request, request.user, found, token)
    except InvitationNotFound:
        return render(request, "staff/join_over.html", status=404)
    form = JoinForm(request.POST or None)
    if form.is_valid():
        user = accounts.find_or_create(form.cleaned_data["email"], None)
        LoginCodeVerificationProcess.initiate(request=request, user=user, email=user.email)
        back = urlencode({"next": reverse("join", args=[token])})
        return redirect(f"{reverse('account_confirm_login_code')}?{back}")
    context = {"invitation": found, "form": form}
    return render(request, "staff/join.html", context, status=422 if form.errors else 200)


def _join_as(request: HttpRequest, user: User, found: Invitation, token: str) -> HttpResponse:
    if request.method != "POST":
        return render(request, "staff/join.html", {"invitation": found, "joins_as": user})
    try:
        member = invitations.accept(secret=token, user_id=user.id)
    except TooManyOnJob:
        messages.error(request, _("This job has no room for more people. Ask who invited you."))
        return redirect("account")
    request.session["company_id"] = str(member.company_id)
    welcome = _("Welcome to the team of %(company)s.")
    messages.success(request, welcome % {"company": isolated(found.company.name)})
    return redirect("company_jobs")
