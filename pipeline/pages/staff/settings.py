"""Settings of a company: where to find each, with a sentence; and the open jobs of the rail."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pipeline.domain.permissions import Action
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.pages.navigation import open_sections


@require_safe
@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """List what the member may open, by section."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    return render(request, "staff/settings.html", {"sections": open_sections(member)})


@require_safe
@for_members(Action.READ_JOBS)
def list_rail_jobs(request: HttpRequest) -> HttpResponse:
    """List the open jobs as the rail does, for pages that have heard of a change."""
    require_permission(current_member(request), Action.READ_JOBS)
    response = render(request, "components/rail_jobs.html")
    response["Cache-Control"] = "private, no-cache"
    return response
