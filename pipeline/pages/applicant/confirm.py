"""The page behind the link in a mail: one button that takes the offered seat.

Opening it changes nothing: mail scanners open links. Only a link whose offer still stands signs its
owner in, and only by the button. The button sends the link's token in the body and not in an
address, so that no log of refused requests holds one that is still good.
"""

from __future__ import annotations

from enum import Enum

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from applicants import http
from applicants.mail import masked
from pipeline.domain.errors import ApplicationNotFound, LineError
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.mail.links import Offer, read_token
from pipeline.pages.applicant.application import CONFIRMED
from pipeline.pages.applicant.application_card import Card
from pipeline.selectors.applications import read_application
from pipeline.selectors.jobs import read_job
from pipeline.selectors.my_applications import current_offer
from pipeline.selectors.people import read_applicant
from pipeline.services.acknowledge import acknowledge


class Link(Enum):
    """What a link from a mail is still good for."""

    OPEN = "open"
    DONE = "done"
    NEWER = "newer"
    LATE = "late"
    OVER = "over"


@never_cache
@require_safe
def confirm_offer(request: HttpRequest, token: str) -> HttpResponse:
    """Who, for which job, until when, and one button; or why there is none."""
    return _show(request, token)


@never_cache
@require_POST
def take_offer(request: HttpRequest) -> HttpResponse:
    """Take the seat and sign its owner in. A link that is no longer good signs nobody in."""
    token = request.POST.get("token", "")
    offer = read_token(token)
    found = _look(offer) if offer else None
    if offer is None or found is None or found[1] is not Link.OPEN:
        return _show(request, token, refused=True)
    person_id = found[0].application.applicant_id
    try:
        actor = Actor(ActorKind.APPLICANT, person_id)
        acknowledge(application_id=offer.application_id, actor=actor)
    except LineError:  # the deadline passed, or the application ended, between look and act
        return _show(request, token, refused=True)
    http.sign_in(request, read_applicant(person_id))
    messages.success(request, CONFIRMED)
    response = redirect("my_application", offer.application_id)
    http.forget_address(response)
    return response


def _show(request: HttpRequest, token: str, *, refused: bool = False) -> HttpResponse:
    offer = read_token(token)
    found = _look(offer) if offer else None
    if found is None:
        response = render(request, "applicant/confirm_unknown.html", status=404)
    else:
        card, link = found
        context = {
            "card": card,
            "link": link.value,
            "address": masked(card.seen.email),
            "token": token,
        }
        status = 409 if refused else 200
        response = render(request, "applicant/confirm.html", context, status=status)
    response["Referrer-Policy"] = "strict-origin"  # the address of this page is a secret
    return response


def _look(offer: Offer) -> tuple[Card, Link] | None:
    """The application that an offer was made to, and what the offer's link is good for."""
    try:
        seen = read_application(offer.application_id)
    except ApplicationNotFound:
        return None
    card = Card.of(seen, read_job(seen.application.job_id))
    is_newest = current_offer(offer.application_id) == offer.seq
    return card, _good_for(card, is_newest=is_newest)


def _good_for(card: Card, *, is_newest: bool) -> Link:
    if card.may_confirm:
        return Link.OPEN if is_newest else Link.NEWER
    if card.standing.status is Status.ACTIVE:
        return Link.DONE
    return Link.OVER if card.state in ("ended", "closing") else Link.LATE
