"""Page to apply to a job, directly when signed in, otherwise with a code by email."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.timezone import get_current_timezone_name
from django.views.decorators.http import require_POST

from applicants import browser
from applicants.browser import remember_address
from applicants.codes import Requester
from applicants.models import Applicant
from applicants.preferences import remember_time_zone
from jobs.models import Job
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, DrawFull, JobNotOpen
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.pages import rate_limits
from pipeline.pages.access import current_applicant, current_member, public_job
from pipeline.pages.applicant import openings
from pipeline.pages.applicant.sign_in import JOB
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.rate_limits import TooOften
from pipeline.selectors.applications import find_live
from pipeline.selectors.jobs import read_job_facts
from pipeline.services.joining import apply as join_line
from pipeline.services.joining import apply_unverified
from pipeline.web.addresses import client_site
from pipeline.wording.events import WELCOMES


@require_POST
def submit(request: HttpRequest, job_id: UUID) -> HttpResponseBase:
    """Add the person who submits the form to the job's line."""
    job, person = public_job(request, job_id), current_applicant(request)
    form = openings.application_form(request, request.POST)
    if job.is_test:
        messages.error(request, "In test mode, add people on the job’s page or with a test key.")
        return redirect("opening", job_id)
    if person is None and current_member(request):
        messages.error(request, "To apply yourself, sign out of the company first.")
        return redirect("opening", job_id)
    if not form.is_valid():
        return openings.render_page(request, job, form, status=422)
    if person:
        return _submit_signed_in(request, job, person, form.cleaned_data["name"])
    # From here on the response is the same for every address, known or not.
    name, address, handle = (
        form.cleaned_data["name"],
        form.cleaned_data["email"],
        browser.new_handle(),
    )
    try:
        rate_limits.count_request(request, "anonymous_apply")
        rate_limits.count_code(request, address)
        requester = Requester(handle, client_site(request))
        apply_unverified(job=read_job_facts(job.id), name=name, email=address, requester=requester)
    except (JobNotOpen, DrawFull) as error:
        messages.error(request, explain_refusal(error))
        return redirect("opening", job_id)
    except TooOften as refused:
        form.add_error(None, str(refused))
        response = openings.render_page(request, job, form, status=429)
        response["Retry-After"] = refused.wait_seconds
        return response
    response = redirect("enter_code")
    remember_address(response, address, handle=handle, after=f"{JOB}{job.id}")
    return response


def _submit_signed_in(request: HttpRequest, job: Job, person: Applicant, name: str) -> HttpResponse:
    actor = Actor(ActorKind.APPLICANT, person.id)
    if person.time_zone != (zone := get_current_timezone_name()):
        remember_time_zone(person.id, zone)  # before the email about it is written
    try:
        created = join_line(job_id=job.id, applicant_id=person.id, name=name, actor=actor)
    except AlreadyApplied:
        messages.info(request, "You have already applied to this job. This is your application.")
        earlier = find_live(person.id, job.id)
        return redirect("my_application", earlier) if earlier else redirect("dashboard")
    except (AlreadyDecided, DrawFull, JobNotOpen) as error:
        messages.error(request, explain_refusal(error))
        return redirect("opening", job.id)
    messages.success(request, WELCOMES[Status(created.status)])
    return redirect("my_application", created.id)
