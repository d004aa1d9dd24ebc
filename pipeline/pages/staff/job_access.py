"""Page of a job's access: who sees this job alone, and in which role."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from jobs.errors import MemberNotFound, TooManyOnJob
from jobs.models import Job, JobRole
from jobs.team import MOST_JOBS, MOST_OF_JOB, give_job_role, read_job_members, take_job_role
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.staff.forms import AddToJobForm
from pipeline.pages.staff.team import SAME_TEAM, TOO_MANY_MAILS, may_email_member, tell_new_member


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TEAM)
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """List who has a role on the job; let owners give one."""
    owner, job = own_job(request, job_id, Action.MANAGE_TEAM)
    if job.is_test:
        messages.info(request, SAME_TEAM)
        return redirect("job_settings", job_id=job.id)
    form = AddToJobForm(request.POST or None)
    if form.is_valid() and _add(request, owner, job, form):
        return redirect("job_access", job_id=job.id)
    context = {
        "member": owner,
        "job": job,
        "tab": "settings",
        "form": form,
        "people": read_job_members(job.id),
        "job_roles": JobRole.choices,
    }
    return render(request, "staff/job_access.html", context, status=422 if form.errors else 200)


def _add(request: HttpRequest, owner: Member, job: Job, form: AddToJobForm) -> bool:
    if not may_email_member(owner):
        form.add_error(None, TOO_MANY_MAILS)
        return False
    given = form.cleaned_data
    try:
        added, is_new = give_job_role(
            company_id=owner.company.id,
            job_id=job.id,
            email=given["email"],
            role=JobRole(given["job_role"]),
            by=owner.user.id,
        )
    except ValidationError as error:
        form.add_error("email", error)
        return False
    except TooManyOnJob:
        full = _("A job can have %(of_job)d people with a role of its own, a person %(jobs)d jobs.")
        form.add_error(None, full % {"of_job": MOST_OF_JOB, "jobs": MOST_JOBS})
        return False
    if is_new:
        tell_new_member(added, by=owner.user)
    done = _("%(name)s now has access to this job.")
    messages.success(request, done % {"name": added.user.shown_name})
    return True


@require_POST
@for_members(Action.MANAGE_TEAM)
def remove(request: HttpRequest, job_id: UUID, membership_id: int) -> HttpResponse:
    """Take a member's role on the job away. Their open pages of it end within seconds."""
    owner, job = own_job(request, job_id, Action.MANAGE_TEAM)
    try:
        gone = take_job_role(
            company_id=owner.company.id,
            job_id=job.id,
            membership_id=membership_id,
            by=owner.user.id,
        )
    except MemberNotFound:
        raise Http404 from None
    done = _("%(name)s no longer has a role on this job.")
    messages.success(request, done % {"name": gone.user.shown_name})
    return redirect("job_access", job_id=job.id)
