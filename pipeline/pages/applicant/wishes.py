"""Pages on which applicants ask for no seat until a time, accept one until then, or pass a turn.

Each has one form, and a button that cancels the wish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_http_methods

from pipeline.domain.errors import IllegalMove, LineError, NotDeferrable, NotPreacceptable
from pipeline.domain.states import ACCEPT_WITHIN, DEFER_WITHIN, Actor, ActorKind
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm, local_moment
from pipeline.selectors.jobs import read_job
from pipeline.services.turns import defer, pass_next, pass_offer, preaccept

NOT_WAITING = gettext_lazy("You can only do this while you wait for a seat.")
USUAL_TIME = time(9, 0)
NO_TURN = gettext_lazy("There is no turn to pass now.")
PASSED = gettext_lazy("You passed this turn. You keep your place in line.")
# The message when a turn is passed, by the button.
PASSES = {
    "open": PASSED,
    "next": gettext_lazy("Saved. You will pass your next turn and keep your place."),
    "keep": gettext_lazy("Saved. You will be offered a seat when it is your turn."),
}


class WishForm(PlainForm):
    """Form for a time in the person's time zone."""

    day = forms.DateField(
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
    )
    at = forms.TimeField(
        # Translators: the label of a time of day.
        label=pgettext_lazy("label", "At"),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 09:00.")},
    )

    def __init__(self, *args: Any, label: str | Promise, days: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        day: Any = self.fields["day"]
        day.label = label
        most = ngettext("At most %(days)s day from now.", "At most %(days)s days from now.", days)
        day.help_text = most % {"days": days}
        day.error_messages["required"] = _("Enter a date.")

    def clean(self) -> dict[str, Any]:
        """Add the entered time to the cleaned data, as `moment`."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            zone = timezone.get_current_timezone_name()
            try:
                given["moment"] = local_moment(given["day"], given["at"], zone)
            except ValidationError as error:
                self.add_error("day", error)
        return given


@dataclass(frozen=True, slots=True)
class Wish:
    """Wish of a waiting person: its form, its page, and the message when it is saved."""

    template: str
    label: str | Promise
    days: int
    preset_days: int  # from today to the day that the form proposes
    column: str
    saved: Any  # with the place of the chosen day
    taken_back: Any
    save: Callable[[UUID, datetime | None, Actor], object]


DEFERRAL = Wish(
    template="applicant/defer.html",
    label=pgettext_lazy("label", "Not before"),
    days=DEFER_WITHIN.days,
    preset_days=1,
    column="not_before",
    saved=gettext_lazy("Not before %(day)s. You keep your place in line."),
    taken_back=gettext_lazy("You can be offered a seat at any time again."),
    save=lambda mine, moment, actor: defer(application_id=mine, not_before=moment, actor=actor),
)
PREACCEPTANCE = Wish(
    template="applicant/preaccept.html",
    label=gettext_lazy("Accept a seat for me until"),
    days=ACCEPT_WITHIN.days,
    preset_days=7,
    column="accept_until",
    saved=gettext_lazy("Saved. If your turn comes before then, the seat is yours at once."),
    taken_back=gettext_lazy("You will be asked to confirm when it is your turn."),
    save=lambda mine, moment, actor: preaccept(
        application_id=mine, accept_until=moment, actor=actor
    ),
)


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def save_deferral_wish(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show and save the time before which a person wants no seat."""
    return _wish_page(request, application_id, DEFERRAL)


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def save_acceptance_wish(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show and save the time until which a person accepts a seat in advance."""
    return _wish_page(request, application_id, PREACCEPTANCE)


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def pass_my_turn(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show what passing a turn means, and pass it.

    The button names the turn, so that people whose offer has just run out do not pass the next one
    by mistake.
    """
    person, seen = own_application(request, application_id)
    turn = request.POST.get("turn")
    if turn in PASSES:
        actor = Actor(ActorKind.APPLICANT, person.id)
        try:
            if turn == "open":
                pass_offer(application_id=application_id, actor=actor)
            else:
                pass_next(application_id=application_id, wanted=turn == "next", actor=actor)
        except LineError as error:
            messages.error(request, explain_refusal(error))
        else:
            messages.success(request, PASSES[turn])
        return redirect("my_application", application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if not card.may_confirm and not card.may_wish:
        messages.info(request, NO_TURN)
        return redirect("my_application", application_id)
    return render(request, "applicant/pass.html", {"card": card})


def _wish_page(request: HttpRequest, application_id: UUID, wish: Wish) -> HttpResponse:
    """Show the form, and save the time on POST; with `now`, clear the time."""
    person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if request.method != "POST" and not card.may_wish:
        messages.info(request, NOT_WAITING)
        return redirect("my_application", application_id)
    until = getattr(seen.application, wish.column)
    if until and until > seen.now:
        here = timezone.localtime(until)
        initial = {"day": here.date(), "at": here.time()}
    else:
        here = timezone.localtime(seen.now) + timedelta(days=wish.preset_days)
        initial = {"day": here.date(), "at": USUAL_TIME}
    takes_back = "now" in request.POST
    sent = request.POST if request.method == "POST" and not takes_back else None
    form = WishForm(sent, initial=initial, label=wish.label, days=wish.days)
    if takes_back or form.is_valid():
        moment = None if takes_back else form.cleaned_data["moment"]
        try:
            wish.save(application_id, moment, Actor(ActorKind.APPLICANT, person.id))
        except (NotDeferrable, NotPreacceptable) as error:
            form.add_error("day", explain_refusal(error))
        except IllegalMove as error:
            messages.error(request, explain_refusal(error))
            return redirect("my_application", application_id)
        else:
            day = date_format(timezone.localtime(moment), "l, j F") if moment else ""
            messages.success(request, wish.saved % {"day": day} if day else wish.taken_back)
            return redirect("my_application", application_id)
    for name in form.errors:  # the page shows each error once, beside its field
        form.fields[name].widget.attrs["autofocus"] = True
    context = {"card": card, "form": form, "zone": timezone.get_current_timezone_name()}
    return render(request, wish.template, context, status=422 if form.errors else 200)
