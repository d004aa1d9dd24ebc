"""The deadline of an applicant's offer as a file for their calendar."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from pipeline.mail.links import LinkedOffer
from pipeline.notifications.message_parts import CalendarNote
from pipeline.notifications.rendering import rendered_calendar_entry
from pipeline.pages.access import for_applicants, own_application
from pipeline.selectors.jobs import read_job
from pipeline.selectors.my_applications import my_current_offer


@require_safe
@for_applicants
def download_my_deadline(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Return the entry that the emails about the offer contain, too; without an offer, go back."""
    _, seen = own_application(request, application_id)
    deadline, seq = seen.application.acknowledge_by, my_current_offer(application_id)
    if deadline is None or deadline <= seen.now or seq is None:
        return redirect("my_application", application_id)
    title = read_job(seen.application.job_id).posting.title
    text = rendered_calendar_entry(
        f"Your turn: confirm your seat for “{title}”",
        CalendarNote(sequence=int(seen.application.deadline_extended)),
        offer=LinkedOffer(application_id, seq),
        deadline=deadline,
        now=seen.now,
    )
    response = HttpResponse(text, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="deadline.ics"'
    response["Cache-Control"] = "private, no-store"
    return response
