"""Retention of a job's personal data: the number of days, and a legal hold."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.models import Job, Retention
from pipeline.domain.permissions import Action
from pipeline.pages.access import for_members, own_job
from pipeline.pages.forms import PlainForm
from pipeline.privacy import retention

LEAST, MOST = Retention.LEAST_DAYS, Retention.MOST_DAYS


class RetentionForm(PlainForm):
    """Form for the number of days and the legal hold."""

    keep_days = forms.IntegerField(
        min_value=LEAST,
        max_value=MOST,
        label="Days to keep personal data",
        help_text=f"After an application has ended: {LEAST} to {MOST:,} days. Then the name, the"
        " email address and your note are erased. The log stays.",
    )
    legal_hold = forms.BooleanField(
        required=False,
        label="Legal hold: keep everything until this is switched off",
    )


def build_form(job: Job) -> RetentionForm:
    """Return the form with the job's current values."""
    kept = Retention.objects.filter(job=job).first() or Retention(job=job)
    return RetentionForm(initial={"keep_days": kept.keep_days, "legal_hold": kept.legal_hold})


@require_POST
@for_members()
def save(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Save a job's retention, even of a closed job. Owners only."""
    _, job = own_job(request, job_id, Action.MANAGE_TEAM)
    form = RetentionForm(request.POST)
    if form.is_valid():
        retention.set_period(job_id=job.id, **form.cleaned_data)
        messages.success(request, "Saved. The change takes effect tonight.")
    else:
        messages.error(request, f"Enter {LEAST} to {MOST:,} days. Nothing was changed.")
    return redirect("job_settings", job_id=job.id)
