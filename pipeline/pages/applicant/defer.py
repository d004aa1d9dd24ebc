"""Page on which an applicant asks for no seat before a time, or takes that back."""

from __future__ import annotations

from datetime import time
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from pipeline.domain.errors import IllegalMove, NotDeferrable
from pipeline.domain.states import DEFER_WITHIN, Actor, ActorKind
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.error_messages import error_message_for
from pipeline.pages.forms import PlainForm, moment_of_form
from pipeline.selectors.jobs import read_job
from pipeline.services.defer import defer

DEFERRED = "Saved. You keep your place in line."
TAKEN_BACK = "You can be offered a seat at any time again."
NOT_WAITING = "You can only do this while you wait for a seat."


class DeferralForm(PlainForm):
    """Form for the time before which a person wants no seat, in their time zone."""

    day = forms.DateField(
        label="Offer me no seat before",
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": "Enter a date, like 2027-01-31."},
        help_text=f"At most {DEFER_WITHIN.days} days from now.",
    )
    at = forms.TimeField(
        label="At",
        initial=time(9, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": "Enter a time, like 09:00."},
    )

    def clean(self) -> dict[str, Any]:
        """Add the moment that was entered to the cleaned data, as `not_before`."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            zone = timezone.get_current_timezone_name()
            try:
                given["not_before"] = moment_of_form(given["day"], given["at"], zone)
            except ValidationError as error:
                self.add_error("day", error)
        return given


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def defer_my_turn(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the form, and save the time on POST; with `now`, take the time back."""
    person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if request.method != "POST" and not card.may_defer:
        messages.info(request, NOT_WAITING)
        return redirect("my_application", application_id)
    initial = {}
    if card.standing.is_deferring and seen.application.not_before:
        here = timezone.localtime(seen.application.not_before)
        initial = {"day": here.date(), "at": here.time()}
    takes_back = "now" in request.POST
    form = DeferralForm(
        request.POST if request.method == "POST" and not takes_back else None, initial=initial
    )
    if takes_back or form.is_valid():
        not_before = None if takes_back else form.cleaned_data["not_before"]
        actor = Actor(ActorKind.APPLICANT, person.id)
        try:
            defer(application_id=application_id, not_before=not_before, actor=actor)
        except NotDeferrable as error:
            form.add_error("day", error_message_for(error))
        except IllegalMove as error:
            messages.error(request, error_message_for(error))
            return redirect("my_application", application_id)
        else:
            messages.success(request, TAKEN_BACK if takes_back else DEFERRED)
            return redirect("my_application", application_id)
    context = {"card": card, "form": form, "zone": timezone.get_current_timezone_name()}
    return render(request, "applicant/defer.html", context, status=422 if form.errors else 200)
