"""The deadline of an applicant's offer as a file for their calendar."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from pipeline.domain.errors import ApplicationNotFound
from pipeline.mail.links import LinkedOffer, read_offer_token
from pipeline.notifications.messages import CalendarNote, rendered_calendar_entry
from pipeline.pages.access import for_applicants, own_application
from pipeline.selectors.applications import SeenApplication, my_current_offer, read_application
from pipeline.selectors.jobs import read_job


@require_safe
@for_applicants
def download(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Return the same entry as in the emails about the offer; without an offer, go back."""
    _, seen = own_application(request, application_id)
    seq = my_current_offer(application_id)
    found = None if seq is None else _calendar_answer(seen, LinkedOffer(application_id, seq))
    return found or redirect("my_application", application_id)


@require_safe
def download_linked(request: HttpRequest, token: str) -> HttpResponse:
    """Return the same through an offer's emailed link; if the offer is over, open its page."""
    offer, found = read_offer_token(token), None
    if offer is not None and my_current_offer(offer.application_id) == offer.seq:
        with suppress(ApplicationNotFound):
            found = _calendar_answer(read_application(offer.application_id), offer)
    return found or redirect("confirm_offer", token)


def _calendar_answer(seen: SeenApplication, offer: LinkedOffer) -> HttpResponse | None:
    deadline = seen.application.acknowledge_by
    if deadline is None or deadline <= seen.now:
        return None
    title = read_job(seen.application.job_id).posting.title
    text = rendered_calendar_entry(
        f"Your turn: confirm your seat for “{title}”",
        CalendarNote(sequence=int(seen.application.deadline_extended)),
        offer=offer,
        deadline=deadline,
        now=seen.now,
    )
    response = HttpResponse(text, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="deadline.ics"'
    response["Cache-Control"] = "private, no-store"
    return response
