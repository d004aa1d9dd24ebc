"""Page of what a company keeps of one application, until when, and what the person agreed to."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from pipeline.consents import agreements
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
        "kept_until": period.ends_at(ended_at) if ended_at else None,
    }
    return render(request, "applicant/my_privacy.html", context)


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
