"""Page of a job's applications, filtered: to look through, decide on, save as a view, download."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from applicants.texts import checked_name, folded_name
from jobs.models import Job
from pipeline.domain.permissions import Action
from pipeline.files.exports import (
    TYPES,
    answer_cells,
    answer_columns,
    formatted_csv_lines,
    formatted_name,
    formatted_pieces,
    note_export,
)
from pipeline.form.answers import read_latest
from pipeline.line import removed_logs
from pipeline.models import VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH, SavedView
from pipeline.pages import page_urls
from pipeline.pages.access import for_members, own_job
from pipeline.pages.company import decisions
from pipeline.pages.company.application_filters import (
    ORDER_CHOICES,
    SOURCE_CHOICES,
    ListedFilters,
    state_choices,
)
from pipeline.pages.limits import time_limited
from pipeline.review.decisions import MOST_PEOPLE
from pipeline.selectors import job_applications
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.job_applications import MOST_COUNTED, ListPlace
from pipeline.selectors.members import read_choices
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.people import NamePlace
from pipeline.selectors.review import (
    read_job_tags,
    read_row_annotations,
)
from pipeline.sources.origin import DIRECT
from pipeline.wording.english import isolated

MOST_IN_FILE = 10_000
MOST_VIEWS = 20
COLUMNS = (
    *("application_id", "name", "email", "status", "outcome", "verified", "misses"),
    *("applied_at", "ended_at", "tags", "assignee", "source"),
)

security = logging.getLogger("security")


@require_safe
@for_members()
@time_limited
def index(request: HttpRequest, job_id: UUID) -> HttpResponseBase:
    """List a job's applications that match the filters in the URL; `?format=csv` downloads them."""
    member, job = own_job(request, job_id)
    chosen = ListedFilters.of(request.GET)
    if chosen.filters.source:  # only the log knows it
        removed_logs.refuse_known(job)
    if request.GET.get("format") == "csv":
        note_export(job, by=member.user.id, what="applications")
        return _csv_answer(job, chosen)
    place: Any = None
    if chosen.given.get("q"):
        found = page_urls.read_place(request, "after", str, UUID)
        place = NamePlace(*found) if found else None
    elif moment := page_urls.read_place(request, "after", datetime, UUID):
        place = ListPlace(*moment)
    page = chosen.page(job, place)
    marks = read_row_annotations([seen.application.id for seen in page.rows])
    total = None
    if not chosen.given.get("q"):
        total = job_applications.count(job.id, chosen.wanted(job), chosen.order)
    context = {
        "job": job,
        "tab": "applications",
        "chosen": chosen,
        "rows": [(seen, marks[seen.application.id]) for seen in page.rows],
        "total": total,
        "most_counted": MOST_COUNTED,
        "states": state_choices(),
        "sources": SOURCE_CHOICES,
        "orders": ORDER_CHOICES,
        "tags": read_job_tags(job.id),
        "members": read_choices(Action.READ_JOB, company_id=job.company_id, job_id=job.id),
        "views": sorted(
            SavedView.objects.filter(job=job, user=member.user),
            key=lambda view: folded_name(view.name),
        ),
        "may": {"decide": member.may(Action.DECIDE)},
        "most_people": MOST_PEOPLE,
        "csv_url": page_urls.change_query(request, after=None, format="csv"),
        "now": page.rows[0].now if page.rows else None,
        "next_url": page_urls.change_query(request, after=encode_cursor(*page.next))
        if page.next
        else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
        **decisions.read_notices(job.id, member),
    }
    return render(request, "company/applications.html", context)


def _csv_answer(job: Job, chosen: ListedFilters) -> StreamingHttpResponse:
    security.info("export.downloaded", extra={"job": str(job.id), "what": "listed"})
    answered = answer_columns(job)

    def csv_rows_of_listed_applications() -> Iterator[dict[str, Any]]:
        batch: list[SeenApplication] = []
        for seen in chosen.everyone(job, most=MOST_IN_FILE):
            batch.append(seen)
            if len(batch) == 200:
                yield from csv_rows_of_application_batch(batch)
                batch = []
        yield from csv_rows_of_application_batch(batch)

    def csv_rows_of_application_batch(batch: list[SeenApplication]) -> Iterator[dict[str, Any]]:
        ids = [seen.application.id for seen in batch]
        marks, latest = read_row_annotations(ids), read_latest(ids) if answered else {}
        for seen in batch:
            row, mark = seen.application, marks[seen.application.id]
            ended = row.ended_at.isoformat() if row.ended_at else None
            values = (row.id, row.name, seen.address, row.status, row.outcome, row.is_verified)
            times = (row.decay_count, row.applied_at.isoformat(), ended)
            came_from = DIRECT if seen.source is None else seen.source
            rest = (", ".join(mark.tags), mark.assignee, came_from)
            given = latest.get(row.id)
            cells = answer_cells(
                answered, given and given.form_number, given.answers if given else {}
            )
            yield dict(zip(COLUMNS, (*values, *times, *rest), strict=True)) | cells

    pieces = formatted_pieces(
        formatted_csv_lines(COLUMNS + answered, csv_rows_of_listed_applications()),
        characters=64 * 1_024,
        first_at_once=True,
    )
    response = StreamingHttpResponse(pieces, content_type=TYPES["csv"])
    name = formatted_name(job, "applications", "csv")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_members()
def change_saved_view(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Save the filters in the form under a name, or remove a saved view, for this member only."""
    member, job = own_job(request, job_id)
    here = reverse("applications", args=[job.id])
    views = SavedView.objects.filter(job=job, user=member.user)
    if removed := request.POST.get("remove"):
        views.filter(id=int(removed) if removed.isdecimal() and len(removed) < 19 else 0).delete()
        return redirect(here)
    query = ListedFilters.of(QueryDict(request.POST.get("query", ""))).query
    name = ""
    with suppress(ValidationError):
        name = checked_name(request.POST.get("name", ""))[:VIEW_NAME_LENGTH]
    if not name or not query:
        messages.error(request, _("Choose filters, then enter a name to save them under."))
    elif len(query) > VIEW_QUERY_LENGTH:
        why = _("These filters are too long to save. Search for a shorter name.")
        messages.error(request, why)
    elif not views.filter(name=name).exists() and views.count() >= MOST_VIEWS:
        why = _("You can save %(most)s views of a job. Remove one first.")
        messages.error(request, why % {"most": MOST_VIEWS})
    else:
        views.update_or_create(name=name, user=member.user, job=job, defaults={"query": query})
        saved = _("Saved as “%(name)s”. Only you see it.")
        messages.success(request, saved % {"name": isolated(name)})
    return redirect(f"{here}?{query}")
