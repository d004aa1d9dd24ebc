"""Public facts about a job's line: a page, and a box for the company's own site."""

from __future__ import annotations

from uuid import UUID

from csp.constants import NONE, SELF
from csp.decorators import csp
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_cookie

from jobs.models import Job, JobStatus
from pipeline.domain.contests import ContestReason
from pipeline.domain.errors import JobNotFound
from pipeline.domain.states import Reason
from pipeline.figures.forecast import Outlook, read_outlook
from pipeline.figures.job import FEWEST_SHOWN, read_public_facts, shown_fact
from pipeline.figures.review_pace import ReviewPace, read_review_pace
from pipeline.form.versions import read_requirements
from pipeline.pages import draws
from pipeline.pages.access import public_job
from pipeline.selectors.jobs import NOTHING_YET, read_job, recent_waits
from pipeline.sources.origin import Origin
from pipeline.wording.english import capitalized
from pipeline.wording.events import CONTEST_REASON_WORDS, REASON_WORDS
from pipeline.wording.exceptions import REASON_WORDS as EXCEPTION_REASON_WORDS
from pipeline.wording.explanations import describe_pace, describe_target, explain_line
from pipeline.wording.waiting import (
    NOT_KNOWN,
    describe_forecast_accuracy,
    describe_least_wait,
    describe_prospect,
)

MINUTE_SECONDS = 60


@require_safe
@vary_on_cookie
@cache_control(public=True, max_age=MINUTE_SECONDS)
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the rules of a job's line, and how often each event happened.

    A draft's only to its company.
    """
    job = public_job(request, job_id)
    counts, pace = read_public_facts(job), read_review_pace(job)
    is_open = job.status == JobStatus.OPEN and not (job.awaits_draw or job.is_filled)
    prospect, least = read_outlook(job.id, job.people_waiting + 1) if is_open else Outlook()
    unknown = NOT_KNOWN if least is None else describe_least_wait(least)
    removals = [(_describe_removal(code), count) for code, count in counts.removals.items()]
    back = [
        (CONTEST_REASON_WORDS[ContestReason(code)], count)
        for code, count in counts.given_back.items()
    ]
    context = {
        "job": job,
        "counts": counts,
        "fewest": FEWEST_SHOWN,
        "rules": explain_line(job.policy, job.capacity, draws.describe_time(job)),
        "prospect": describe_prospect(prospect) if prospect else unknown,
        "accuracy": describe_forecast_accuracy(prospect.counted, prospect.share)
        if prospect
        else "",
        "recent": recent_waits([job.id]).get(job.id, NOTHING_YET),
        "removals": removals,
        "given_back": back,
        "exceptions": [
            (EXCEPTION_REASON_WORDS[code], count)
            for code, count in counts.exceptions_by_reason.items()
        ],
        "pace": pace,
        **_aim(job, pace),
        "requirements": [
            (each.question, shown_fact(each.refused)) for each in read_requirements(job)
        ],
    }
    return render(request, "applicant/facts.html", context)


def _describe_removal(code: str) -> str:
    """Return the reason of a decision as the beginning of a line."""
    return _("No reason given") if code == "NONE" else capitalized(str(REASON_WORDS[Reason(code)]))


def _aim(job: Job, pace: ReviewPace | None) -> dict[str, str]:
    clock = job.review_clock
    if clock is None:
        return {}
    aim = describe_target(clock.target_seconds, works=clock.hours is not None)
    return {"aim": aim, "pace_words": describe_pace(pace.tenths, aim) if pace else ""}


# Public box about a job, for an iframe on the company's own site.


# The box has only stylesheets, a font, links and pictures of ours, and any site may show it.
_OF_A_BOX = {
    "default-src": [NONE],
    "style-src": [SELF],
    "font-src": [SELF],
    "img-src": [SELF],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": ["*"],
}


@csp(_OF_A_BOX)  # type: ignore[arg-type]  # its type allows no further arguments
@require_safe
@cache_control(public=True, max_age=MINUTE_SECONDS)
def show_box(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a public job's seats, its line and the link to apply. Raises JobNotFound.

    Everyone gets the same box: it reads no session and sets no cookie.
    """
    job = read_job(job_id)
    if job.status == JobStatus.DRAFT or job.is_test:
        raise JobNotFound
    link = f"{settings.SITE_URL}{reverse('opening', args=[job.id])}"
    context = {"job": job, "link": link, "origin": Origin.read(request.GET)}
    response = HttpResponse(render_to_string("applicant/embed.html", context))
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
