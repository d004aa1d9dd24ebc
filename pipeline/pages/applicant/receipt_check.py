"""Page on which an applicant checks a receipt: has the line's history been altered since?"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from jobs.models import Job
from pipeline.audit.verify import Verdict, verify_job
from pipeline.domain.errors import LogReadersBusy, VerifierBusy
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.noted_event import NotedEventForm
from pipeline.pages.rate_limits import TooOften, limit_page_rate
from pipeline.selectors.jobs import read_job


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def check_receipt(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Ask for a receipt; on POST, verify the log against it. Neither changes anything."""
    person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    form = NotedEventForm(request.POST if request.method == "POST" else None)
    verdict, status, busy = None, 422 if form.is_bound else 200, ""
    if form.is_valid():
        try:
            limit_page_rate(request, "verify", f"applicant {person.id}")
            verdict, status = verify_job(card.job.id, noted=form.noted, in_turn=True), 200
        except TooOften as error:
            busy, status = str(error), 429
        except (VerifierBusy, LogReadersBusy):
            busy, status = "Other histories are being checked right now. Try again soon.", 503
    context = {
        "card": card,
        "form": form,
        "busy": busy,
        "verdict": verdict,
        "result": result_of_receipt_check(verdict, card.job) if verdict else "",
        "is_good": verdict is not None and verdict.is_sound and verdict.known is not False,
        "noted": form.noted if verdict else None,
    }
    return render(request, "applicant/receipt.html", context, status=status)


def result_of_receipt_check(verdict: Verdict, job: Job) -> str:
    """Describe the result without naming anyone: the differences are for the company."""
    if verdict.chain != "ok" or not verdict.is_sound:
        return (
            "This line’s history is damaged: someone has edited the database, or it was restored"
            f" incorrectly. Ask {job.company.name} about it."
        )
    if verdict.known is False:
        return (
            "The history does not match your receipt. Check what you entered. If it is correct, the"
            " history was rewritten."
        )
    if verdict.known:
        return "Nothing up to your receipt has been altered."
    return "The history is complete and correctly chained."
