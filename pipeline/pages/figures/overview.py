"""Page that leads to the figures and reports of all jobs of a company."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.selectors.jobs import read_company_jobs

JOBS_SHOWN = 50


@require_safe
@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """List the company's jobs, newest first, each with its figures and weekly reports."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    page = read_company_jobs(
        member.company.id,
        status=None,
        search="",
        after=page_urls.read_id(request, "after"),
        limit=JOBS_SHOWN,
    )
    next_url = page_urls.change_query(request, after=str(page.rows[-1].id)) if page.more else ""
    is_first = "after" not in request.GET
    first_url = "" if is_first else page_urls.change_query(request, after=None)
    context = {"jobs": page.rows, "next_url": next_url, "first_url": first_url}
    return render(request, "figures/overview.html", context)
