"""The list of open jobs, and the page of one job, where people apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from applicants import browser
from applicants.browser import remember_address
from applicants.codes import Requester
from applicants.forms import ApplyForm, NameForm
from applicants.models import Applicant
from applicants.people import remember_time_zone
from jobs.models import Job, JobStatus
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, DrawFull, JobNotOpen
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.figures.forecast import read_prospects
from pipeline.models import PlannedSeats
from pipeline.pages import draws, limits
from pipeline.pages.access import current_applicant, current_member, current_memberships, public_job
from pipeline.pages.applicant.sign_in import JOB
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.limits import TooOften
from pipeline.pages.line_picture import LinePicture
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import find_live, my_latest_name
from pipeline.selectors.jobs import (
    NOTHING_YET,
    RecentFacts,
    planned_seats_cache_tag,
    read_job_facts,
    read_open_jobs,
    read_seat_plans,
    recent_waits,
)
from pipeline.services.joining import apply as join_line
from pipeline.services.joining import apply_unverified
from pipeline.web.addresses import client_site
from pipeline.wording.events import WELCOMES
from pipeline.wording.explanations import explain_line
from pipeline.wording.status import NOT_KNOWN, describe_prospect

ON_ONE_PAGE = 24
LONGEST_SEARCH = 100
REFRESH_SECONDS = 600  # how often forecasts and typical waits change with time alone
# The line that the first page shows to explain the product.
EXAMPLE = LinePicture.of_counts({"active": 4, "pending": 1, "free": 0}, 9, position=3)


@dataclass(frozen=True, slots=True)
class Opening:
    """Open job with its recent waiting times."""

    job: Job
    recent: RecentFacts


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List open jobs that match the search, newest first, one page at a time."""
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    try:
        after = UUID(request.GET.get("after", ""))
    except ValueError:
        after = None
    page = read_open_jobs(search=search, after=after, limit=ON_ONE_PAGE)
    waits = recent_waits([job.id for job in page.rows])
    context = {
        "openings": [Opening(job, waits.get(job.id, NOTHING_YET)) for job in page.rows],
        "search": search,
        "example": None if search or after else EXAMPLE,
        "next_url": _search_url(search, page.rows[-1].id) if page.more else None,
        "first_url": _search_url(search) if after else None,
    }
    return render(request, "applicant/openings.html", context)


@require_safe
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show one job. A draft is shown only to its own company."""
    job, person = public_job(request, job_id), current_applicant(request)
    mine = find_live(person.id, job.id) if person else None
    plans = read_seat_plans(job.id)
    side = _visitor_rights(request, job)
    period = int(timezone.now().timestamp()) // REFRESH_SECONDS
    return live_page(
        request,
        "applicant/opening.html",
        "applicant/_opening.html",
        build=lambda: _page_context(request, job, application_form(request), plans, mine),
        tag=f"{job.seq}-{job.posting.version}-{planned_seats_cache_tag(plans)}-{mine}-{side}-{period}",
        # Not for the public: each change would make every open form request the page again, many
        # times a second.
        jobs=[job.id] if person or side[0] else [],
    )


def application_form(request: HttpRequest, data: Any = None) -> forms.Form:
    """Return the form to apply. Signed-in applicants enter only a name."""
    person = current_applicant(request)
    if person is None:
        return ApplyForm(data)
    if data is not None:
        return NameForm(data)
    return NameForm(initial={"name": person.name or my_latest_name(person.id)})


def render_page(
    request: HttpRequest, job: Job, form: forms.Form, *, status: int = 200
) -> HttpResponse:
    """Render a job's page again with a refused form to apply. It does not update itself."""
    person = current_applicant(request)
    mine = find_live(person.id, job.id) if person else None
    context = _page_context(request, job, form, read_seat_plans(job.id), mine)
    return render(request, "applicant/opening.html", context, status=status)


def _page_context(
    request: HttpRequest,
    job: Job,
    form: forms.Form,
    plans: list[PlannedSeats],
    my_application_id: UUID | None,
) -> dict[str, Any]:
    is_staff, is_own = _visitor_rights(request, job)
    return {
        "job": job,
        "news": _news_text(job),
        "picture": LinePicture.of(job),
        "public_link": f"{settings.SITE_URL}{reverse('opening', args=[job.id])}",
        "recent": recent_waits([job.id]).get(job.id, NOTHING_YET),
        "prospect": _prospect_text(job),
        "plans": plans,
        "rules": explain_line(job.policy, job.capacity, draws.describe_time(job)),
        "form": form,
        "is_staff": is_staff,
        "is_own": is_own,
        "is_offer_open": job.status == JobStatus.OPEN,
        "mine": my_application_id,
    }


def _visitor_rights(request: HttpRequest, job: Job) -> tuple[bool, bool]:
    """Return whether the visitor is a member of a company, and of this job's company."""
    companies = {member.company_id for member in current_memberships(request)}
    return bool(companies), job.company_id in companies


def _news_text(job: Job) -> str:
    """Return the words for readers who hear the page rather than see it, when it changes."""
    if job.status in (JobStatus.PAUSED, JobStatus.CLOSED):
        return f"This job is {job.status.lower()}."
    if job.awaits_draw:
        return "The order is still to be drawn by lot."
    if job.is_filled:
        return _("All positions are filled.")
    return "A seat is free now." if job.seats_free else "All seats are taken."


def _prospect_text(job: Job) -> str:
    """Say how long a person who applies now will probably wait; nothing if a seat is free."""
    if job.status != JobStatus.OPEN or job.seats_free or job.awaits_draw or job.is_filled:
        return ""
    found = read_prospects({job.id: job.people_waiting + 1}).get(job.id)
    return describe_prospect(found) if found else NOT_KNOWN


def _search_url(search: str, after: UUID | None = None) -> str:
    query = {name: value for name, value in (("q", search), ("after", after)) if value}
    return f"{reverse('openings')}?{urlencode(query)}" if query else reverse("openings")


# Page to apply to a job, directly when signed in, otherwise with a code by email.


@require_POST
def apply(request: HttpRequest, job_id: UUID) -> HttpResponseBase:
    """Add the person who submits the form to the job's line."""
    job, person = public_job(request, job_id), current_applicant(request)
    form = application_form(request, request.POST)
    if job.is_test:
        messages.error(request, "In test mode, add people on the job’s page or with a test key.")
        return redirect("opening", job_id)
    if person is None and current_member(request):
        messages.error(request, "To apply yourself, sign out of the company first.")
        return redirect("opening", job_id)
    if not form.is_valid():
        return render_page(request, job, form, status=422)
    if person:
        return _submit_signed_in(request, job, person, form.cleaned_data["name"])
    # From here on the response is the same for every address, known or not.
    name, address, handle = (
        form.cleaned_data["name"],
        form.cleaned_data["email"],
        browser.new_handle(),
    )
    try:
        limits.count_request(request, "anonymous_apply")
        limits.count_code(request, address)
        requester = Requester(handle, client_site(request))
        apply_unverified(job=read_job_facts(job.id), name=name, email=address, requester=requester)
    except (JobNotOpen, DrawFull) as error:
        messages.error(request, explain_refusal(error))
        return redirect("opening", job_id)
    except TooOften as refused:
        form.add_error(None, str(refused))
        response = render_page(request, job, form, status=429)
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
