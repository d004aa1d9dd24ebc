"""Page that verifies a job's log and compares it with a hash noted earlier."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs.models import Job
from pipeline.audit.verify import Verdict, verify_job
from pipeline.domain.errors import VerifierBusy
from pipeline.pages.access import for_members, own_job
from pipeline.pages.noted_event import NotedEventForm
from pipeline.pages.rate_limits import TooOften, limit_page_rate

SHOWN = 20  # differences that are listed


@for_members()
def verify_log(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Verify the log on POST; on GET show the form. Neither changes anything."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _verify_page(request, job, NotedEventForm())
    form = NotedEventForm(request.POST)
    if not form.is_valid():
        return _verify_page(request, job, form, status=422)
    try:
        limit_page_rate(request, "verify", f"member {member.user.id}")
        verdict = verify_job(job.id, noted=form.noted, in_turn=True)
    except (TooOften, VerifierBusy) as error:
        status = 429 if isinstance(error, TooOften) else 503
        return _verify_page(request, job, form, status=status, busy=True)
    return _verify_page(request, job, form, verdict=verdict)


def _verify_page(
    request: HttpRequest,
    job: Job,
    form: NotedEventForm,
    *,
    status: int = 200,
    verdict: Verdict | None = None,
    busy: bool = False,
) -> HttpResponse:
    is_good = verdict is not None and verdict.is_sound and verdict.known is not False
    context = {
        "job": job,
        "tab": "timeline",
        "form": form,
        "verdict": verdict,
        "busy": busy,
        "noted": verdict and form.noted,
        "is_good": is_good,
        "verdict_icon": "shield-check" if is_good else "shield-exclamation",
        "verdict_title": verdict and _title_of_verdict(verdict),
        "differences": verdict.differences[:SHOWN] if verdict else [],
    }
    return render(request, "history/verify.html", context, status=status)


def _title_of_verdict(verdict: Verdict) -> str:
    if verdict.chain != "ok":
        return f"The log is broken at event {verdict.first_bad_seq}"
    if not verdict.is_sound:
        return "The line does not match its log"
    return "The log is sound" if verdict.known is not False else "The log does not match your copy"
