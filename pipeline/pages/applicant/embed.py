"""Public box about a job, for an iframe on the company's own site."""

from __future__ import annotations

from uuid import UUID

from csp.constants import NONE, SELF
from csp.decorators import csp
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import JobStatus
from pipeline.domain.errors import JobNotFound
from pipeline.selectors.jobs import read_job

MINUTE_SECONDS = 60
# The box has only a stylesheet, links and pictures of ours, and any site may show it.
_OF_A_BOX = {
    "default-src": [NONE],
    "style-src": [SELF],
    "img-src": [SELF],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": ["*"],
}


@csp(_OF_A_BOX)  # type: ignore[arg-type]  # its type allows no further arguments
@require_safe
@cache_control(public=True, max_age=MINUTE_SECONDS)
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a public job's seats, its line and the link to apply. Raises JobNotFound.

    Everyone gets the same box: it reads no session and sets no cookie.
    """
    job = read_job(job_id)
    if job.status == JobStatus.DRAFT or job.is_test:
        raise JobNotFound
    link = f"{settings.SITE_URL}{reverse('opening', args=[job.id])}"
    response = HttpResponse(render_to_string("applicant/embed.html", {"job": job, "link": link}))
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
