"""Actions on a job: open, pause, close, change seats at once or later, add a person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_POST
from uuid_utils.compat import uuid7

from applicants.people import find_or_create_person
from jobs.models import MAX_CAPACITY, Job, JobStatus
from pipeline.domain.errors import JobNotOpen, LineError, PlannedSeatsNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.states import Status
from pipeline.models import MOST_TIMES
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company import consequences
from pipeline.pages.company.forms import CapacityForm, PersonForm
from pipeline.pages.error_messages import NOT_FOUND, attempt, explain_refusal
from pipeline.pages.forms import PlainForm, TimeZoneField, local_moment
from pipeline.selectors.applications import read_application
from pipeline.selectors.board import LOOKED_AHEAD, read_next_names, read_promoted
from pipeline.selectors.jobs import read_seat_plans
from pipeline.selectors.people import last_decided_application
from pipeline.services.jobs import (
    JobChanges,
    SeatPlan,
    cancel_seats,
    close_job,
    delete_draft,
    open_job,
    pause_job,
    plan_seats,
    update_job,
)
from pipeline.services.joining import apply
from pipeline.wording.english import isolated
from pipeline.wording.language import number as in_digits


@require_POST
@for_members(Action.OPEN_OR_PAUSE_JOB)
def start(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Open a draft, or resume a paused job."""
    member, job = own_job(request, job_id, Action.OPEN_OR_PAUSE_JOB)
    done = _("The job is open. People can apply.")
    return _run(request, job, done, lambda: open_job(job_id=job_id, actor=member.actor))


@require_POST
@for_members(Action.OPEN_OR_PAUSE_JOB)
def pause(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Pause a job."""
    member, job = own_job(request, job_id, Action.OPEN_OR_PAUSE_JOB)
    done = _("The job is paused. Nobody can apply or is promoted; running deadlines continue.")
    return _run(request, job, done, lambda: pause_job(job_id=job_id, actor=member.actor))


@for_members(Action.CLOSE_JOB)
def close(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask once, naming who is released; on POST, close the job."""
    member, job = own_job(request, job_id, Action.CLOSE_JOB)
    if request.method != "POST":
        released = job.waitlist_count + job.pending_count
        context = {"job": job, "tab": "board", "released": released}
        return render(request, "company/close.html", context)
    done = _("The job is closed.")
    return _run(request, job, done, lambda: close_job(job_id=job_id, actor=member.actor))


@for_members(Action.DELETE_DRAFT)
def delete(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask once; on POST, delete a job that was never opened."""
    member, job = own_job(request, job_id, Action.DELETE_DRAFT)
    if request.method != "POST":
        return render(request, "company/delete_draft.html", {"job": job, "tab": "board"})
    title = job.posting.title
    verb = partial(delete_draft, job_id=job_id, actor=member.actor)
    if not attempt(request, lambda: (verb(), True)):
        return redirect("board", job_id=job.id)
    done = _("The draft “%(title)s” is deleted.")
    messages.success(request, done % {"title": isolated(title)})
    return redirect("company_jobs")


def _run(request: HttpRequest, job: Job, done: str, verb: Callable[[], object]) -> HttpResponse:
    """Run an action on a job and report the result on its board."""
    if attempt(request, lambda: (verb(), True)):
        messages.success(
            request,
            done + consequences.describe_done_promotion(*read_promoted(job.id, job.seq)),
        )
    return redirect("board", job_id=job.id)


@for_members(Action.CHANGE_RULES)
def change_capacity(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask for a number of seats, show the consequence, and on POST apply it."""
    member, job = own_job(request, job_id, Action.CHANGE_RULES)
    if job.status == JobStatus.CLOSED:
        return _capacity_page(request, job, CapacityForm(), None, "")
    given = request.POST or request.GET
    form = CapacityForm(given if "capacity" in given else None, initial={"capacity": job.capacity})
    if not (form.is_bound and form.is_valid()):
        return _capacity_page(request, job, form, None, "")
    wanted = form.cleaned_data["capacity"]
    added = wanted - job.active_count - job.pending_count
    names = read_next_names(job.id, most=min(added, LOOKED_AHEAD)) if added > 0 else []
    follows = consequences.describe_capacity(job, wanted, names)
    if request.method != "POST":
        return _capacity_page(request, job, form, wanted, follows)
    if request.POST.get("promised", follows) != follows:
        form.add_error(None, consequences.MOVED_ON)
        return _capacity_page(request, job, form, wanted, follows)
    changes = JobChanges(capacity=wanted)
    return _run(
        request,
        job,
        _describe_new_capacity(wanted, over=max(0, -added)),
        lambda: update_job(job_id=job.id, changes=changes, actor=member.actor),
    )


def _describe_new_capacity(seats: int, *, over: int) -> str:
    """Say how many seats a job has now, and how many people hold one above that."""
    done = ngettext("The job now has %(seats)s seat.", "The job now has %(seats)s seats.", seats)
    done %= {"seats": in_digits(seats)}
    if not over:
        return done
    drains = ngettext(
        "%(count)s person above that keeps that seat until they leave.",
        "%(count)s people above that keep their seats until they leave.",
        over,
    ) % {"count": in_digits(over)}
    return f"{done} {drains}"


def _capacity_page(
    request: HttpRequest, job: Job, form: CapacityForm, wanted: int | None, follows: str
) -> HttpResponse:
    context = {"job": job, "tab": "settings", "form": form, "wanted": wanted, "follows": follows}
    is_refused = form.errors or (request.method == "POST" and job.status == JobStatus.CLOSED)
    return render(request, "company/capacity.html", context, status=422 if is_refused else 200)


@for_members(Action.SUBMIT_APPLICATION)
def add_person(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Add a person to the line. Their address counts as verified: the company vouches for it."""
    member, job = own_job(request, job_id, Action.SUBMIT_APPLICATION)
    form = PersonForm(request.POST or None)
    before = (
        last_decided_application(job.id, form.cleaned_data["email"]) if form.is_valid() else None
    )
    is_asked = before is not None and request.POST.get("again") != str(before.id)
    if form.is_valid() and not is_asked:
        try:
            return _add_person(request, member, job, form)
        except NOT_FOUND:
            raise
        except LineError as error:
            form.add_error(None, explain_refusal(error))
    # With a cool-down for everyone who waits, a free seat goes to the newcomer.
    free = 0 if job.awaits_draw else job.seats_free
    eligible = len(read_next_names(job.id, most=min(free, LOOKED_AHEAD))) if free > 0 else 0
    context = {
        "job": job,
        "tab": "board",
        "form": form,
        "before": before if is_asked else None,
        "gets_seat": eligible < free,
    }
    return render(request, "company/add.html", context, status=422 if form.errors else 200)


def _add_person(request: HttpRequest, member: Member, job: Job, form: PersonForm) -> HttpResponse:
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before any of the person's data is stored
    person = find_or_create_person(form.cleaned_data["email"])
    name = form.cleaned_data["name"]
    added = apply(job_id=job.id, applicant_id=person.id, name=name, actor=member.actor)
    seen = read_application(added.id)
    match seen.application.status:
        case Status.ACTIVE:
            result = _("%(name)s now has a seat and is in review.")
        case Status.PENDING_ACKNOWLEDGMENT:
            result = _("%(name)s was offered a seat and must confirm it before the deadline.")
        case _ if seen.position is None:
            result = _("%(name)s takes part in the draw.")
        case _:
            result = _("%(name)s is now number %(position)s in line.")
    place = f"{seen.position or 0:,}"
    messages.success(request, result % {"name": isolated(name), "position": place})
    return redirect("board", job_id=job.id)


# Page of a job's planned seats: list, add, cancel.


PLANNED = gettext_lazy("Planned. Everyone can see it on the job’s page.")
CANCELLED = gettext_lazy("Cancelled. These seats will not change.")
TOO_LATE = gettext_lazy(
    "There was nothing left to cancel: it has already happened, or was cancelled."
)


class PlannedSeatsForm(PlainForm):
    """Form for seats that open or close at a time, once or weekly."""

    # Sent once with each form: pressing the button twice plans once.
    once = forms.UUIDField(widget=forms.HiddenInput)
    change = forms.ChoiceField(
        label=gettext_lazy("What happens"),
        choices=[("open", gettext_lazy("Seats open")), ("close", gettext_lazy("Seats close"))],
        initial="open",
        help_text=gettext_lazy("Seats close as people leave."),
    )
    seats = forms.IntegerField(
        label=gettext_lazy("How many seats"),
        min_value=1,
        max_value=MAX_CAPACITY,
        initial=1,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    day = forms.DateField(
        label=pgettext_lazy("day", "On"),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
    )
    at = forms.TimeField(
        label=pgettext_lazy("time of day", "At"),
        initial=time(9, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 09:00.")},
    )
    zone = TimeZoneField(label=gettext_lazy("Time zone"))
    times = forms.IntegerField(
        label=gettext_lazy("How many weeks"),
        min_value=1,
        max_value=MOST_TIMES,
        initial=1,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text=gettext_lazy("1 means only on that day."),
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
def show_planned_seats(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's plans, and for owners a form that adds one."""
    adds = request.method == "POST"
    action = Action.CHANGE_RULES if adds else Action.READ_JOB
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
def cancel_planned_seats(request: HttpRequest, job_id: UUID, planned_id: UUID) -> HttpResponse:
    """Cancel the remaining changes of a plan."""
    member, job = own_job(request, job_id, Action.CHANGE_RULES)
    try:
        cancel_seats(job_id=job.id, planned_id=planned_id, actor=member.actor)
    except PlannedSeatsNotFound:
        messages.info(request, TOO_LATE)
    else:
        messages.success(request, CANCELLED)
    return redirect("planned_seats", job_id=job.id)
