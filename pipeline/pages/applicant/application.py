"""One application of the person who is signed in: where it stands, confirming, withdrawing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from jobs.models import Job
from pipeline.domain.states import Actor, ActorKind, Outcome, Status
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import Card, timeline_entry
from pipeline.pages.applicant.withdraw_consequences import what_if_withdrawn
from pipeline.pages.error_messages import attempt
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import Seen
from pipeline.selectors.jobs import read_job
from pipeline.selectors.my_applications import last_events_of
from pipeline.selectors.position_changes import last_change_of_position
from pipeline.services.acknowledge import acknowledge
from pipeline.services.withdraw import withdraw
from pipeline.wording.explanations import why_moved

LAST_EVENTS = 50
CONFIRMED = "Confirmed: the seat is yours. The company looks at your application now."
WITHDRAWN = "You have withdrawn: you are out of this line."


@require_safe
@for_applicants
def my_application(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Everything about one application, for whose it is."""
    _person, seen = own_application(request, application_id)
    job = read_job(seen.application.job_id)
    card = Card.of(seen, job)
    return live_page(
        request,
        "applicant/application.html",
        "applicant/_application.html",
        build=lambda: _everything(seen, job),
        tag=f"{job.seq} {job.posting.version} {card.state} {card.standing.is_cooling}",
        jobs=[job.id],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def confirm_mine(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Take the offered seat; where it is too late, the next page says so and shows the place.

    Only by the button: who had to sign in first comes back here by a link, and is shown the button.
    """
    person, seen = own_application(request, application_id)
    actor = Actor(ActorKind.APPLICANT, person.id)
    if request.method == "POST" and seen.application.status != Status.ACTIVE:
        attempt(
            request, lambda: acknowledge(application_id=application_id, actor=actor), done=CONFIRMED
        )
    return redirect("my_application", application_id)


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def withdraw_mine(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Ask once what leaving the line means; then do it. Once more is nothing to speak of."""
    person, seen = own_application(request, application_id)
    if seen.application.outcome == Outcome.WITHDRAWN:
        return redirect("my_application", application_id)
    card = Card.of(seen, read_job(seen.application.job_id))
    if request.method == "POST":
        actor = Actor(ActorKind.APPLICANT, person.id)
        attempt(
            request, lambda: withdraw(application_id=application_id, actor=actor), done=WITHDRAWN
        )
        return redirect("my_application", application_id)
    if not card.may_withdraw:
        messages.info(request, "This application has ended: there is nothing to withdraw.")
        return redirect("my_application", application_id)
    context = {"card": card, "then": what_if_withdrawn(card)}
    return render(request, "applicant/withdraw.html", context)


def _everything(seen: Seen, job: Job) -> dict[str, Any]:
    moved = last_change_of_position(seen.application)
    events = last_events_of(seen.application.id, most=LAST_EVENTS)
    return {
        "card": Card.of(seen, job),
        "moved": moved,
        "why_moved": why_moved(moved) if moved else "",
        "lines": [timeline_entry(event) for event in events.rows],
        "more_lines": events.more,
        "head_seq": job.seq,
        "head_hash": bytes(job.chain_head).hex(),
    }
