"""Page of what a company keeps of one application, until when, and what the person agreed to."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from pipeline.consents import agreements, pool
from pipeline.consents.versions import pool_of
from pipeline.domain.errors import ConsentsChanged
from pipeline.pages.access import for_applicants, for_signed_in_applicants, own_application
from pipeline.pages.consents import privacy_context
from pipeline.selectors.jobs import read_job


@require_safe
@for_applicants
def show(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Show who is responsible, the retention, and the agreements with their texts."""
    _person, seen = own_application(request, application_id)
    job = read_job(seen.application.job_id)
    privacy = privacy_context(job)
    ended_at, period = seen.application.ended_at, privacy["period"]
    context = privacy | {
        "application": seen.application,
        "job": job,
        "agreements": agreements.read_of(application_id),
        "pool": pool_of(job.company),
        "pooled": pool.read_own(application_id, now=seen.now),
        "kept_until": period.ends_at(ended_at) if ended_at else None,
    }
    return render(request, "applicant/my_privacy.html", context)


@require_POST
@for_signed_in_applicants
def join_pool(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Agree that the company writes about its other jobs, as the page said it."""
    _person, seen = own_application(request, application_id)
    job = read_job(seen.application.job_id)
    try:
        version_id = UUID(request.POST.get("version", ""))
        pool.join(application_id=application_id, company=job.company, version_id=version_id)
    except (ValueError, ConsentsChanged):
        messages.error(request, _("The company asks otherwise now. Read it, and decide again."))
        return redirect("my_privacy", application_id)
    messages.success(request, _("You have agreed. Your place in line does not change."))
    return redirect("my_privacy", application_id)


@require_POST
@for_signed_in_applicants
def withdraw(request: HttpRequest, application_id: UUID, agreement_id: UUID) -> HttpResponseBase:
    """Take a consent back that the application does not need."""
    own_application(request, application_id)
    if agreements.withdraw(application_id=application_id, agreement_id=agreement_id):
        messages.success(
            request, _("You have taken this consent back. Your place does not change.")
        )
    return redirect("my_privacy", application_id)
