"""The list of open jobs, and the page of one job, where people apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from applicants.forms import ApplyForm, NameForm
from jobs.models import Job, JobStatus
from pipeline.careers import job_posting, markdown, share
from pipeline.figures.forecast import Prospect, read_outlook, read_prospects
from pipeline.figures.review_pace import read_review_pace
from pipeline.form.versions import questions_of
from pipeline.models import PlannedSeats
from pipeline.pages import draws
from pipeline.pages.access import (
    current_applicant,
    current_memberships,
    public_job,
    sees_own_job,
)
from pipeline.pages.answer_forms import add_questions
from pipeline.pages.applicant.group import add_group_fields
from pipeline.pages.consents import add_consents, add_equality, privacy_context, privacy_tag
from pipeline.pages.live_page import PARAMETER, live_page
from pipeline.selectors.applications import find_live, my_latest_name
from pipeline.selectors.jobs import (
    planned_seats_cache_tag,
    read_open_jobs,
    read_seat_plans,
)
from pipeline.sources import views
from pipeline.sources.origin import Origin
from pipeline.web.addresses import client_address
from pipeline.wording.explanations import describe_target
from pipeline.wording.openings import (
    AnswerPace,
    describe_numbers,
    describe_outlook,
    describe_steps,
)
from pipeline.wording.postings import describe_facts
from pipeline.wording.waiting import NOT_KNOWN, describe_least_wait, describe_wait

ON_ONE_PAGE = 24
LONGEST_SEARCH = 100
AHEAD_X, TAKEN_X = (33, 65, 96, 128), (24, 62, 99)
REFRESH_SECONDS = 600  # how often forecasts change with time alone


@dataclass(frozen=True, slots=True)
class Opening:
    """Open job, and how long somebody who applies now probably waits; empty if not known."""

    job: Job
    wait: str

    @property
    def numbers(self) -> str:
        """Return its seats and the people who wait, in words."""
        return describe_numbers(self.job)


@dataclass(frozen=True, slots=True)
class PicturedLine:
    """Shapes that the pictures of the steps show of a job's line, up to a few people and seats."""

    ahead: tuple[int, ...]  # where in the picture the people ahead stand
    number: str  # of the person who would join
    taken: tuple[int, ...]  # where the other seats are

    @classmethod
    def of(cls, job: Job) -> PicturedLine:
        """Build it for the next person to apply."""
        waiting = 0 if job.seats_free else job.people_waiting
        return cls(
            ahead=AHEAD_X[len(AHEAD_X) - min(waiting, len(AHEAD_X)) :],
            number="?" if job.awaits_draw else f"{waiting + 1:,}",
            taken=TAKEN_X[len(TAKEN_X) - min(job.capacity - 1, len(TAKEN_X)) :],
        )


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List open jobs that match the search, newest first, one page at a time."""
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    try:
        after = UUID(request.GET.get("after", ""))
    except ValueError:
        after = None
    page = read_open_jobs(search=search, after=after, limit=ON_ONE_PAGE)
    prospects = _read_prospects(page.rows)
    context = {
        "is_listed": settings.SITE_JOB_LIST,
        "openings": [
            Opening(job, describe_wait(prospects[job.id]) if job.id in prospects else "")
            for job in page.rows
        ],
        "search": search,
        "origin": (origin := Origin.read(request.GET)),
        "next_url": _search_url(search, origin, page.rows[-1].id) if page.more else None,
        "first_url": _search_url(search, origin) if after else None,
    }
    return render(request, "applicant/openings.html", context)


def _read_prospects(jobs: Iterable[Job]) -> dict[UUID, Prospect]:
    """Return the prospect of the next person to join each line that moves, as its own page says."""
    moving = (job for job in jobs if job.people_waiting and not _has_plain_outlook(job))
    return read_prospects({job.id: job.people_waiting + 1 for job in moving})


def _has_plain_outlook(job: Job) -> bool:
    """Tell whether what comes next is no question of waiting."""
    return bool(job.status != JobStatus.OPEN or job.seats_free or job.awaits_draw or job.is_filled)


@require_safe
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show one job. A draft is shown only to its own company."""
    job, person = public_job(request, job_id), current_applicant(request)
    mine = find_live(person.id, job.id) if person else None
    plans = read_seat_plans(job.id)
    side = _visitor_rights(request, job)
    if request.method == "GET" and PARAMETER not in request.GET and not mine and not side[0]:
        source, address = Origin.read(request.GET).source, client_address(request)
        views.note(job.id, source, address=address, headers=request.headers)
    period = int(timezone.now().timestamp()) // REFRESH_SECONDS
    return live_page(
        request,
        "applicant/opening.html",
        "applicant/_opening.html",
        build=lambda: _page_context(request, job, application_form(request, job), plans, mine),
        tag=f"{job.seq}-{job.posting.version}-{planned_seats_cache_tag(plans)}-{mine}-{side}-{period}"
        f"-{privacy_tag(job)}",
        # Not for the public: each change would make every open form request the page again, many
        # times a second.
        jobs=[job.id] if person or side[0] else [],
    )


def application_form(
    request: HttpRequest, job: Job, data: Any = None, files: Any = None
) -> forms.Form:
    """Return the form to apply with the job's questions. Signed-in applicants enter a name only."""
    person = current_applicant(request)
    form: forms.Form
    if person is None:
        form = ApplyForm(data, files)
    elif data is not None:
        form = NameForm(data, files)
    else:
        form = NameForm(initial={"name": person.name or my_latest_name(person.id)})
    questions = questions_of(job.id, job.form_version)
    add_questions(form, questions, sent_to=(request, job))
    add_group_fields(form, job)
    add_equality(form, job)
    add_consents(form, job)
    return form


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
    said = job_posting.describe(job)
    return {
        "job": job,
        "careers": job_posting.careers_of(job.company),
        "description": markdown.to_html(job.posting.description),
        "facts": describe_facts(job.posting),
        "structured": job_posting.script(said) if said else "",
        **share.describe(job),
        "news": _news_text(job),
        "public_link": f"{settings.SITE_URL}{reverse('opening', args=[job.id])}",
        "numbers": describe_numbers(job),
        "outlook": _outlook_words(job, is_verified=current_applicant(request) is not None),
        "steps": describe_steps(job, _answer_pace(job)),
        "pictured": PicturedLine.of(job),
        "plans": plans,
        "form": form,
        # Of the link; a form that was refused carries it on.
        "origin": Origin.read(request.POST or request.GET),
        **privacy_context(job),
        "is_staff": is_staff,
        "is_own": is_own,
        "is_offer_open": job.status == JobStatus.OPEN,
        "mine": my_application_id,
    }


def _visitor_rights(request: HttpRequest, job: Job) -> tuple[bool, bool]:
    """Return whether the visitor is a member of a company, and may see this job's line."""
    return bool(current_memberships(request)), sees_own_job(request, job)


def _news_text(job: Job) -> str:
    """Return the words for readers who hear the page rather than see it, when it changes."""
    if job.status in (JobStatus.PAUSED, JobStatus.CLOSED):
        is_paused = job.status == JobStatus.PAUSED
        return _("This job is paused.") if is_paused else _("This job is closed.")
    if job.awaits_draw:
        return _("The order is still to be drawn by lot.")
    if job.is_filled:
        return _("All positions are filled.")
    return _("A seat is free now.") if job.seats_free else _("All seats are taken.")


def _outlook_words(job: Job, *, is_verified: bool) -> str:
    """Return what a person who applies now can expect; the wait only if it is known and needed."""
    draw = draws.describe_time(job)
    if _has_plain_outlook(job):
        return describe_outlook(job, "", draw, is_verified=is_verified)
    prospect, least = read_outlook(job.id, job.people_waiting + 1)
    wait = describe_wait(prospect) if prospect else ""
    return describe_outlook(
        job, wait, draw, NOT_KNOWN if least is None else describe_least_wait(least)
    )


def _answer_pace(job: Job) -> AnswerPace:
    """Return how soon the company aims to answer, and how often it did."""
    clock = job.review_clock
    if clock is None:
        return AnswerPace()
    pace = read_review_pace(job)
    aim = describe_target(clock.target_seconds, works=clock.hours is not None)
    return AnswerPace(aim, pace.tenths if pace else None)


def _search_url(search: str, origin: Origin, after: UUID | None = None) -> str:
    query = {name: value for name, value in (("q", search), ("after", after)) if value}
    query |= origin.values
    return f"{reverse('openings')}?{urlencode(query)}" if query else reverse("openings")
