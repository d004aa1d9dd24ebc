"""Page of a job's planned seats: list, add, cancel."""

from __future__ import annotations

from datetime import time
from typing import Any
from uuid import UUID, uuid5

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST
from uuid_utils.compat import uuid7

from jobs.models import MAX_CAPACITY, JobStatus
from pipeline.domain.errors import LineError, PlannedSeatsNotFound
from pipeline.domain.permissions import Action
from pipeline.models import MOST_TIMES
from pipeline.pages.access import for_members, own_job
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm, TimeZoneField, local_moment
from pipeline.selectors.jobs import read_seat_plans
from pipeline.services.jobs import SeatPlan, cancel_seats, plan_seats

PLANNED = "Planned. Everyone can see it on the job’s page."
CANCELLED = "Cancelled. These seats will not change."
TOO_LATE = "There was nothing left to cancel: it has already happened, or was cancelled."


class PlannedSeatsForm(PlainForm):
    """Form for seats that open or close at a time, once or weekly."""

    # Sent once with each form: pressing the button twice plans once.
    once = forms.UUIDField(widget=forms.HiddenInput)
    change = forms.ChoiceField(
        label="What happens",
        choices=[("open", "Seats open"), ("close", "Seats close")],
        initial="open",
        help_text="Nobody loses a seat: seats close as people leave.",
    )
    seats = forms.IntegerField(
        label="How many seats",
        min_value=1,
        max_value=MAX_CAPACITY,
        initial=1,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    day = forms.DateField(
        label="On",
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": "Enter a date, like 2027-01-31."},
    )
    at = forms.TimeField(
        label="At",
        initial=time(9, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": "Enter a time, like 09:00."},
    )
    zone = TimeZoneField(label="Time zone")
    times = forms.IntegerField(
        label="How many times, once a week",
        min_value=1,
        max_value=MOST_TIMES,
        initial=1,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text="1: only on that day. 10: on that day and the same weekday of the next 9 weeks.",
    )

    def clean(self) -> dict[str, Any]:
        """Refuse a time that the clocks skip. If a time comes twice, take the first."""
        given = super().clean() or {}
        if {"day", "at", "zone"} <= given.keys():
            try:
                given["first_at"] = local_moment(given["day"], given["at"], given["zone"])
            except ValidationError as error:
                self.add_error("at", error)
        return given

    def plan(self) -> SeatPlan:
        """Return the plan that was entered. The form must be valid."""
        given = self.cleaned_data
        seats = given["seats"] if given["change"] == "open" else -given["seats"]
        return SeatPlan(seats, given["first_at"], given["zone"], given["times"])


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's plans, and for owners a form that adds one."""
    adds = request.method == "POST"
    action = Action.CHANGE_RULES if adds else Action.READ_COMPANY
    member, job = own_job(request, job_id, action)
    initial = {"once": uuid7(), "zone": timezone.get_current_timezone_name()}
    form = PlannedSeatsForm(request.POST if adds else None, initial=initial)
    if adds and form.is_valid():
        once = uuid5(job.id, str(form.cleaned_data["once"]))
        try:
            plan_seats(job_id=job.id, plan=form.plan(), actor=member.actor, planned_id=once)
        except LineError as error:
            form.add_error(None, explain_refusal(error))
        else:
            messages.success(request, PLANNED)
            return redirect("planned_seats", job_id=job.id)
    context = {
        "job": job,
        "tab": "settings",
        "form": form,
        "plans": read_seat_plans(job.id),
        "may_plan": member.may(Action.CHANGE_RULES) and job.status != JobStatus.CLOSED,
    }
    return render(
        request, "company/planned_seats.html", context, status=422 if form.errors else 200
    )


@require_POST
@for_members(Action.CHANGE_RULES)
def cancel(request: HttpRequest, job_id: UUID, planned_id: UUID) -> HttpResponse:
    """Cancel the remaining changes of a plan."""
    member, job = own_job(request, job_id, Action.CHANGE_RULES)
    try:
        cancel_seats(job_id=job.id, planned_id=planned_id, actor=member.actor)
    except PlannedSeatsNotFound:
        messages.info(request, TOO_LATE)
    else:
        messages.success(request, CANCELLED)
    return redirect("planned_seats", job_id=job.id)
