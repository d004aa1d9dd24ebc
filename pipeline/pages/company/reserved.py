"""Page of a job's reserved seats, and the buttons that confirm who belongs to their group."""

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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from jobs.models import MAX_CAPACITY, RESERVED_CODE_LENGTH, RESERVED_SENTENCE_LENGTH, Job
from pipeline.domain.errors import LineError
from pipeline.domain.permissions import Action
from pipeline.domain.states import ClaimState, GroupKind, Status
from pipeline.models import GroupClaim
from pipeline.pages.access import Member, for_members, own_job, received_application
from pipeline.pages.error_messages import attempt, explain_refusal
from pipeline.pages.forms import LinesField, PlainForm, local_moment
from pipeline.selectors.applications import SeenApplication
from pipeline.services.reserved import Reserve, decide_claim, reserve_seats
from pipeline.wording.reserved import group_choices


class ReserveForm(PlainForm):
    """Seats that are reserved for a group: how many, for whom, why, by which code, until when."""

    seats = forms.IntegerField(
        label=gettext_lazy("Reserved seats"),
        min_value=0,
        max_value=MAX_CAPACITY,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text=gettext_lazy("0 reserves none."),
    )
    kind = forms.ChoiceField(
        label=pgettext_lazy("group", "For"), choices=group_choices, widget=forms.RadioSelect
    )
    sentence = LinesField(
        label=gettext_lazy("Why, in your own sentence"),
        required=False,
        max_length=RESERVED_SENTENCE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Everyone reads it on the job’s page."),
    )
    code = forms.CharField(
        label=gettext_lazy("Code of the group"),
        required=False,
        max_length=RESERVED_CODE_LENGTH,
        help_text=gettext_lazy(
            "Give it to people of the group. Whoever enters it is confirmed at once. Without a"
            " code, only you confirm people, on their application’s page."
        ),
    )
    until_day = forms.DateField(
        label=pgettext_lazy("day", "Until"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
        help_text=gettext_lazy(
            "Then the reserved seats that are free go to the line. Without a date, they stay free"
            " while nobody of the group waits."
        ),
    )
    until_time = forms.TimeField(
        label=pgettext_lazy("time of day", "At"),
        required=False,
        initial=time(9, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 09:00.")},
    )

    def __init__(self, job: Job, data: Any = None) -> None:
        here = timezone.localtime(job.reserved_until) if job.reserved_until else None
        initial: dict[str, Any] = {
            "seats": job.reserved_seats,
            "kind": job.reserved_for or GroupKind.INTERNAL.value,
            "sentence": job.posting.reserved_sentence,
            "code": job.posting.reserved_code,
        }
        if here:
            initial |= {"until_day": here.date(), "until_time": here.time()}
        super().__init__(data, initial=initial)
        self.job = job

    def clean(self) -> dict[str, Any]:
        """Add the end, and require a sentence where the group alone says nothing."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        is_own = given.get("kind") == GroupKind.OWN
        if given.get("seats") and is_own and not given.get("sentence"):
            self.add_error("sentence", _("Say whom the seats are reserved for, and why."))
        given["until"] = None
        if not given.get("until_day") or self.errors:
            return given
        kept = self.job.reserved_until
        zone = timezone.get_current_timezone_name()
        try:
            until = local_moment(given["until_day"], given.get("until_time") or time(9, 0), zone)
        except ValidationError as error:
            self.add_error("until_day", error)
            return given
        same = kept and until == kept.replace(second=0, microsecond=0)
        given["until"] = kept if same else until
        return given

    def reserve(self) -> Reserve:
        """Return what was entered. The form must be valid."""
        given = self.cleaned_data
        return Reserve(
            seats=given["seats"],
            kind=GroupKind(given["kind"]),
            sentence=given["sentence"],
            code=given["code"].strip(),
            until=given["until"],
        )


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's reserved seats, and for owners a form to change them."""
    changes = request.method == "POST"
    member, job = own_job(request, job_id, Action.CHANGE_RULES if changes else Action.READ_COMPANY)
    form = ReserveForm(job, request.POST if changes else None)
    if changes and form.is_valid():
        try:
            reserve_seats(job_id=job.id, reserve=form.reserve(), actor=member.actor)
        except LineError as error:
            form.add_error(None, explain_refusal(error))
        else:
            messages.success(request, _("Reserved seats are saved."))
            return redirect("reserved_seats", job_id=job.id)
    context = {
        "job": job,
        "tab": "settings",
        "form": form,
        "may_change": member.may(Action.CHANGE_RULES),
    }
    return render(request, "company/reserved.html", context, status=422 if form.errors else 200)


def read_group_context(member: Member, seen: SeenApplication, job: Job) -> dict[str, Any]:
    """Return a person's statement about the group, in one query; none without reserved seats."""
    if not job.reserved_seats:
        return {}
    waits = seen.application.status == Status.WAITLIST
    return {
        "claim": GroupClaim.objects.filter(application_id=seen.application.id).first(),
        "may_decide_claim": waits and member.may(Action.DECIDE),
    }


@require_POST
@for_members(Action.DECIDE)
def decide(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Confirm or decline that a person belongs to the group of the job's reserved seats."""
    member, _seen = received_application(request, application_id, Action.DECIDE)
    confirms = request.POST.get("decision") == "confirm"
    kept = attempt(
        request,
        lambda: decide_claim(application_id=application_id, confirms=confirms, actor=member.actor),
    )
    if kept is not None:
        done = {
            ClaimState.CONFIRMED: _("Confirmed. The person can take a reserved seat."),
            ClaimState.DECLINED: _("Declined. The person keeps their place in line."),
        }
        messages.success(request, done[ClaimState(kept.state)])
    return redirect("application", application_id=application_id)
