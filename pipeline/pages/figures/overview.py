"""Page of a company's reports: a period in figures, of all jobs and of each, also as a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_safe

from jobs.models import JobPosting
from pipeline.domain.permissions import Action
from pipeline.figures import period
from pipeline.figures.period import PeriodFigures, PeriodReport
from pipeline.files.exports import formatted_csv_lines
from pipeline.line.clock import read_company_clock
from pipeline.pages import page_urls
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.pages.forms import PlainForm
from pipeline.pages.limits import time_limited
from pipeline.selectors.jobs import read_company_jobs
from pipeline.wording import language

JOBS_SHOWN = 50
CSV_TYPE = "text/csv; charset=utf-8"
CSV_COLUMNS = (
    *("from", "to", "job", "job_id", "hired", "promoted", "median_wait_seconds"),
    *("decided", "median_review_seconds", "applied", "missed"),
)
ALL_JOBS = "(all)"  # name of the first row of a file
NOTHING = PeriodFigures()
LAST_DAYS = timedelta(days=90)
THIS_MONTH, LAST_MONTH, LAST_90, THIS_YEAR, OWN = PERIODS = (
    *("this-month", "last-month", "last-90-days", "this-year"),
    "own",
)
PERIOD_WORDS = {
    THIS_MONTH: gettext_lazy("This month"),
    LAST_MONTH: gettext_lazy("Last month"),
    LAST_90: gettext_lazy("Last 90 days"),
    THIS_YEAR: gettext_lazy("This year"),
}


def _day_field(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
    )


class DaysForm(PlainForm):
    """First and last day of a period."""

    first = _day_field(pgettext_lazy("day", "From"))
    last = _day_field(pgettext_lazy("day", "To"))

    def clean_last(self) -> date:
        """Refuse a last day before the first one, and one that no calendar goes beyond."""
        first, last = self.cleaned_data.get("first"), self.cleaned_data["last"]
        if (first and last < first) or last == date.max:
            raise forms.ValidationError(_("Choose a day after the first one."))
        return last


@dataclass(frozen=True, slots=True)
class Period:
    """Days of a period, both included, in the reader's time zone."""

    name: str
    first: date
    last: date

    @property
    def words(self) -> str:
        """Return its name, or its days."""
        return str(PERIOD_WORDS[self.name]) if self.name in PERIOD_WORDS else self.days

    @property
    def days(self) -> str:
        """Return its first and last day in words."""
        return _("%(first)s to %(last)s") % {
            "first": language.day(self.first, "medium"),
            "last": language.day(self.last, "medium"),
        }

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Return when it begins, and the moment after its end."""
        begins = (self.first, self.last + timedelta(days=1))
        start, end = (timezone.make_aware(datetime.combine(day, time())) for day in begins)
        return start, end


@require_safe
@for_members()
@time_limited
def show(request: HttpRequest) -> HttpResponse:
    """Show a period of the company's jobs in figures, and lead to each job's own."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    page = read_company_jobs(
        member.company.id,
        status=None,
        search="",
        after=page_urls.read_id(request, "after"),
        limit=JOBS_SHOWN,
    )
    form = DaysForm(request.GET) if request.GET.get("period") == OWN else None
    shown = _requested_period(request, form, member.company.id)
    report = period.read_period(member.company.id, *shown.bounds)
    is_first = "after" not in request.GET
    context = {
        "report": report,
        "rows": [(job, report.by_job.get(job.id, NOTHING)) for job in page.rows],
        "period": shown,
        "periods": PERIOD_WORDS.items(),
        "form": form or DaysForm(initial={"first": shown.first, "last": shown.last}),
        "file_query": f"period={OWN}&first={shown.first}&last={shown.last}",
        "next_url": page_urls.change_query(request, after=str(page.rows[-1].id))
        if page.more
        else "",
        "first_url": "" if is_first else page_urls.change_query(request, after=None),
    }
    return render(request, "figures/overview.html", context)


@require_safe
@for_members()
@time_limited
def download(request: HttpRequest) -> HttpResponse:
    """Return the figures of a period as CSV: all jobs together, then each that has any."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    shown = _requested_period(request, DaysForm(request.GET), member.company.id)
    report = period.read_period(member.company.id, *shown.bounds)
    lines = formatted_csv_lines(CSV_COLUMNS, _csv_rows(shown, report))
    response = HttpResponse("".join(lines), content_type=CSV_TYPE)
    name = f"report-{shown.first}-{shown.last}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


def _requested_period(request: HttpRequest, form: DaysForm | None, company_id: UUID) -> Period:
    """Return the period of the URL; this month, if it names none or wrong days."""
    name = request.GET.get("period", "")
    if name == OWN and form and form.is_valid():
        return Period(OWN, form.cleaned_data["first"], form.cleaned_data["last"])
    today = timezone.localtime(read_company_clock(company_id).now).date()
    month = today.replace(day=1)
    before = month - timedelta(days=1)
    firsts = {
        LAST_MONTH: (before.replace(day=1), before),
        LAST_90: (today - LAST_DAYS + timedelta(days=1), today),
        THIS_YEAR: (today.replace(month=1, day=1), today),
    }
    if name in firsts:
        return Period(name, *firsts[name])
    return Period(THIS_MONTH, month, today)


def _csv_rows(shown: Period, report: PeriodReport) -> list[dict[str, Any]]:
    titles = dict(
        JobPosting.objects.filter(job_id__in=report.by_job)
        .order_by("title", "job_id")
        .values_list("job_id", "title")
    )
    rows = [(ALL_JOBS, "", report.total)]
    rows += [(title, str(job_id), report.by_job[job_id]) for job_id, title in titles.items()]
    return [
        {
            "from": shown.first.isoformat(),
            "to": shown.last.isoformat(),
            "job": title,
            "job_id": job_id,
            "hired": figures.hired,
            "promoted": figures.promoted,
            "median_wait_seconds": _rounded(figures.wait),
            "decided": figures.decided,
            "median_review_seconds": _rounded(figures.review),
            "applied": figures.applied,
            "missed": figures.missed,
        }
        for title, job_id, figures in rows
    ]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
