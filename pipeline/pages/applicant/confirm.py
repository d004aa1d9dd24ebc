"""The page behind an emailed link: its buttons confirm the offered seat, or pass the turn.

Opening the page changes nothing, because mail scanners open links. Only a button opens the page of
this one application, and only while the offer is open. Nobody is signed in: the email may have been
forwarded. The button sends the token in the body, so that no log of
refused requests contains a valid one.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import tzinfo
from enum import Enum

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from applicants import browser
from applicants.addresses import masked_address
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, LineError
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.mail.links import LinkedOffer, is_offer_token_old, read_offer_token
from pipeline.notifications.applicants import email_zone
from pipeline.pages.applicant.application import CONFIRMED
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.applicant.wishes import PASSED
from pipeline.selectors.applications import my_current_offer, read_application, was_my_offer_passed
from pipeline.selectors.jobs import read_job
from pipeline.selectors.people import read_person
from pipeline.services.turns import acknowledge, pass_offer
from pipeline.web.middleware import ZONE_COOKIE


class LinkState(Enum):
    """State of the offer behind an emailed link."""

    OPEN = "open"
    DONE = "done"  # already confirmed
    NEWER = "newer"  # a newer offer is open
    PASSED = "passed"
    LATE = "late"  # the deadline passed
    OVER = "over"  # the application ended


@never_cache
@require_safe
def show(request: HttpRequest, token: str) -> HttpResponse:
    """Show the offer and its buttons, or why there are none."""
    return _render(request, token)


@never_cache
@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Confirm the seat, or pass the turn with `pass`, and show the application.

    An outdated link opens no application, and neither does one from a sandbox.
    """
    token = request.POST.get("token", "")
    offer, found = read_offer_token(token), _read_offer(token)
    if offer is None or found is None or found[1] is not LinkState.OPEN:
        return _render(request, token, refused=True)
    person_id = found[0].application.applicant_id
    verb, said = (pass_offer, PASSED) if "pass" in request.POST else (acknowledge, CONFIRMED)
    try:
        actor = Actor(ActorKind.APPLICANT, person_id)
        verb(application_id=offer.application_id, actor=actor)
    except LineError:  # the deadline passed or the application ended in between
        return _render(request, token, refused=True)
    if found[0].seen.is_test:  # whoever reads a sandbox's emails is not the person
        messages.success(request, said)
        return redirect("confirm_offer", token)
    browser.open_application(request, applicant_id=person_id, application_id=offer.application_id)
    messages.success(request, said)
    return redirect("my_application", offer.application_id)


def _render(request: HttpRequest, token: str, *, refused: bool = False) -> HttpResponse:
    found = _read_offer(token)
    if found is None:
        response = render(request, "applicant/confirm_unknown.html", status=404)
    else:
        card, link = found
        context = {
            "card": card,
            "link": link.value,
            "address": masked_address(card.seen.email),
            "token": token,
        }
        status = 409 if refused else 200
        with timezone.override(_shown_zone(request, card)):
            response = render(request, "applicant/confirm.html", context, status=status)
    response["Referrer-Policy"] = "strict-origin"  # this page's URL is a secret
    return response


def _shown_zone(request: HttpRequest, card: ApplicationCard) -> tzinfo:
    """Return the browser's time zone, or the person's if the browser is new here."""
    if ZONE_COOKIE not in request.COOKIES:
        with suppress(ApplicantNotFound):  # erased
            return email_zone(read_person(card.application.applicant_id), card.job)
    return timezone.get_current_timezone()


def _read_offer(token: str) -> tuple[ApplicationCard, LinkState] | None:
    """Return the application and the state of a link; None if it is forged, or old and not open."""
    offer = read_offer_token(token)
    found = _offer_and_link_state(offer) if offer else None
    if found and found[1] is not LinkState.OPEN and is_offer_token_old(token):
        return None
    return found


def _offer_and_link_state(offer: LinkedOffer) -> tuple[ApplicationCard, LinkState] | None:
    try:
        seen = read_application(offer.application_id)
    except ApplicationNotFound:
        return None
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if card.may_confirm:
        is_newest = my_current_offer(offer.application_id) == offer.seq
        return card, LinkState.OPEN if is_newest else LinkState.NEWER
    if card.standing.status is Status.ACTIVE:
        return card, LinkState.DONE
    if card.state == "waiting" and was_my_offer_passed(offer.application_id, offer.seq):
        return card, LinkState.PASSED
    return card, LinkState.OVER if card.state in ("ended", "closing") else LinkState.LATE
