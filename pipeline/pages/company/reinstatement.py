"""Page that gives a person back a place that was lost through a missed deadline."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.domain.states import ReinstatementReason
from pipeline.line.misses import has_just_missed, read_last_miss
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company import consequences
from pipeline.pages.company.forms import ReinstatementForm
from pipeline.pages.error_messages import attempt
from pipeline.selectors.applications import SeenApplication, find_position, read_application
from pipeline.selectors.jobs import read_job
from pipeline.services.leaving import reinstate
from pipeline.wording.english import isolated


def is_offered(seen: SeenApplication, job: Job) -> bool:
    """Tell whether to show the button that gives back the place lost through the last miss."""
    application = seen.application
    can_return = job.status != JobStatus.CLOSED and application.is_verified and bool(seen.address)
    return can_return and has_just_missed(application)


@for_members(Action.REINSTATE)
def reinstate_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show what giving the place back changes; on POST, give it back."""
    member, seen = received_application(request, application_id, Action.REINSTATE)
    job, miss = read_job(seen.application.job_id), read_last_miss(seen.application)
    if not is_offered(seen, job) or not attempt(request, lambda: (miss.refuse_giving_back(), True)):
        return redirect("application", application_id=application_id)
    form = ReinstatementForm(request.POST or None)
    # A later miss would be given back instead. If only the line has moved on, no decision changes.
    promise = str(miss.seq)
    is_kept = request.POST.get("promised", promise) == promise
    if form.is_valid() and is_kept:
        return _reinstate_application(request, member, seen, form.cleaned_data)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "miss": miss,
        "promise": promise,
        "consequence": consequences.describe_reinstatement(
            job,
            position=find_position(job.id, miss.ticket or 0, miss.tie or 0),
            stood=seen.position or seen.people_waiting + 1,
        ),
    }
    return render(request, "company/reinstate.html", context, status=422 if form.errors else 200)


def _reinstate_application(
    request: HttpRequest, member: Member, seen: SeenApplication, given: dict[str, str]
) -> HttpResponse:
    application_id = seen.application.id
    done = attempt(
        request,
        lambda: reinstate(
            application_id=application_id,
            reason=ReinstatementReason(given["reason"]),
            actor=member.actor,
            note=given["note"],
        ),
    )
    if done is not None:
        position = read_application(application_id).position
        result = f"is number {position:,} in line" if position else "gets the free seat"
        name = isolated(seen.application.name or seen.address)
        messages.success(request, f"{name} has their place back and {result}.")
    return redirect("application", application_id=application_id)
