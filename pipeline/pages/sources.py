"""Pages of where people came from: the funnel of a job and of a company, and links that say so."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_safe

from pipeline.domain.permissions import Action
from pipeline.files.exports import formatted_csv_lines
from pipeline.models import SOURCE_LENGTH
from pipeline.pages.access import current_member, for_members, own_job, require_permission
from pipeline.pages.forms import PlainForm
from pipeline.pages.limits import time_limited
from pipeline.sources import funnel
from pipeline.sources.funnel import Funnel, SourceRow

PERIODS = {30: _("30 days"), 90: _("90 days"), 365: _("A year"), funnel.MOST_DAYS: _("All time")}
CSV_TYPE = "text/csv; charset=utf-8"
CSV_COLUMNS = (
    "source",
    "viewed",
    "applied",
    "verified",
    "seated",
    "hired",
    "median_seconds_to_verified",
    "median_seconds_to_seated",
    "median_seconds_to_hired",
)
# Names of the rows that are no source in a file.
REST, ERASED = "(other)", "(erased)"


class SourceForm(PlainForm):
    """Form for the names that a link carries, so that figures tell where people came from."""

    source = forms.CharField(
        required=False,
        max_length=SOURCE_LENGTH,
        label=_("Where the link will be"),
        help_text=_("For example linkedin, newsletter or flyer."),
    )
    utm_campaign = forms.CharField(
        required=False, max_length=SOURCE_LENGTH, label=pgettext_lazy("label", "Campaign")
    )
    utm_medium = forms.CharField(
        required=False,
        max_length=SOURCE_LENGTH,
        label=pgettext_lazy("label", "Medium"),
        help_text=_("For example email or print."),
    )


@require_safe
@for_members()
@time_limited
def show_job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show where the people of a job came from, and how far they got."""
    _member, job = own_job(request, job_id)
    found = funnel.read_job(job, days=_days(request))
    context = _context(request, found) | {"job": job, "tab": "sources"}
    return render(request, "figures/job_sources.html", context)


@require_safe
@for_members()
@time_limited
def show_company(request: HttpRequest) -> HttpResponse:
    """Show the same for all jobs of the company together."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    found = funnel.read_company(member.company.id, days=_days(request))
    context = _context(request, found) | {"member": member, "most_jobs": funnel.MOST_JOBS}
    return render(request, "figures/company_sources.html", context)


@require_safe
@for_members()
@time_limited
def download_job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Return a job's funnel as CSV."""
    _member, job = own_job(request, job_id)
    found = funnel.read_job(job, days=_days(request))
    return _csv(found, slugify(job.posting.title)[:60] or "job")


@require_safe
@for_members()
@time_limited
def download_company(request: HttpRequest) -> HttpResponse:
    """Return the company's funnel as CSV."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    return _csv(funnel.read_company(member.company.id, days=_days(request)), "company")


def _days(request: HttpRequest) -> int:
    text = request.GET.get("days", "")
    days = int(text) if text.isdecimal() and len(text) < 6 else 0
    return days if days in PERIODS else funnel.USUAL_DAYS


def _context(request: HttpRequest, found: Funnel) -> dict[str, Any]:
    return {
        "funnel": found,
        "periods": list(PERIODS.items()),
        "days": _days(request),
        "most_events": funnel.MOST_EVENTS,
    }


def _csv(found: Funnel, name: str) -> HttpResponse:
    lines = formatted_csv_lines(CSV_COLUMNS, map(_cells, found.rows))
    response = HttpResponse("".join(lines), content_type=CSV_TYPE)
    response["Content-Disposition"] = f'attachment; filename="{name}-sources.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


def _cells(row: SourceRow) -> dict[str, Any]:
    named = REST if row.source is None else row.source or ERASED
    return dict(zip(CSV_COLUMNS, (named, *row[1:]), strict=True))
