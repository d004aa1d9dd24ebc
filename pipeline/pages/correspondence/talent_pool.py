"""Pages of a company's talent pool: who is in it, and telling them of a job."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from jobs.models import Job
from pipeline.consents import pool
from pipeline.consents.versions import pool_of
from pipeline.correspondence import bulk
from pipeline.correspondence.threads import WRITE
from pipeline.domain.permissions import Action
from pipeline.models import Agreement
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    chosen_job,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.correspondence.bulk_messages import BulkTextForm, describe_preview, sent_id
from pipeline.pages.limits import time_limited
from pipeline.selectors.jobs import read_job, read_newest_open_jobs
from pipeline.selectors.pages import Page

MEMBERS_SHOWN = 50
LONGEST_SEARCH = 254
MOST_JOBS = 200  # the newest open ones


class TellForm(BulkTextForm):
    """Open job that members of the pool are told of, and the text."""

    about = forms.ChoiceField(label=gettext_lazy("Tell them of the job"))
    field_order = ("about", "text")

    def __init__(self, company_id: UUID, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        field: Any = self.fields["about"]
        open_ones = read_newest_open_jobs(company_id, limit=MOST_JOBS)
        field.choices = [(str(each.id), each.title) for each in open_ones]


@require_safe
@for_members()
@time_limited
def index(request: HttpRequest) -> HttpResponse:
    """List the people in the company's talent pool, or those who are searched for."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    chosen = _Chosen(request, member)
    rows = chosen.members
    if after := page_urls.read_id(request, "after"):
        rows = rows.filter(id__lt=after)
    page = Page.cut(list(rows[: MEMBERS_SHOWN + 1]), MEMBERS_SHOWN)
    context: dict[str, Any] = {
        "pool": pool_of(member.company),
        "rows": page.rows,
        "count": chosen.members.count(),
        "jobs": pool.read_jobs(member.company),
        "chosen": chosen,
        "may_write": member.may(WRITE),
        "clock_of": member.company,
    }
    if page.more:
        context["next_url"] = page_urls.change_query(request, after=str(page.rows[-1].id))
    if "after" in request.GET:
        context["first_url"] = page_urls.change_query(request, after=None)
    return render(request, "correspondence/talent_pool.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(WRITE)
def write(request: HttpRequest) -> HttpResponse:
    """Show the form; then how many people get the message and what the first read; then send."""
    member = require_permission(form_member(request), WRITE)
    chosen = _Chosen(request, member)
    given = {"about": request.GET.get("about", "")}
    form = TellForm(member.company.id, request.POST or None, initial=given)
    context: dict[str, Any] = {
        "form": form,
        "chosen": chosen,
        "bulk_id": sent_id(request),
        "per_minute": settings.BULK_MESSAGES_PER_MINUTE,
    }
    if form.is_valid():
        job, text = read_job(UUID(form.cleaned_data["about"])), form.cleaned_data["text"]
        people = pool.find_to_write(chosen.members, job.id)
        if "send" in request.POST and (bulk_id := _send(request, member, job, chosen, form)):
            return redirect("bulk_message", job.id, bulk_id)
        context |= describe_preview(member, job, people, text)
    status = 422 if form.errors else 200
    return render(request, "correspondence/write_to_pool.html", context, status=status)


def _send(
    request: HttpRequest, member: Member, job: Job, chosen: _Chosen, form: TellForm
) -> UUID | None:
    """Begin to send, if as many people get it as the page said; return the bulk message's id."""
    count = str(pool.find_to_write(chosen.members, job.id).count())
    if request.POST.get("promised") != count:
        form.add_error(None, _("The people have changed meanwhile. Look again, then send."))
        return None
    try:
        row = bulk.start_to_pool(
            bulk_id=sent_id(request),
            job=job,
            members=chosen.members,
            text=form.cleaned_data["text"],
            author_id=member.user.id,
        )
    except bulk.BulkRefused as error:
        form.add_error(None, str(error))
        return None
    return row.id


class _Chosen:
    """Members of a pool that an address chooses: by the job they applied to, and by a search."""

    def __init__(self, request: HttpRequest, member: Member) -> None:
        self.search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
        self.job = chosen_job(request, member)
        self.members: QuerySet[Agreement] = pool.read_members(
            member.company, job_id=self.job.id if self.job else None, search=self.search
        )

    @property
    def query(self) -> str:
        """Return the query that chooses them, with its question mark, or nothing."""
        given = {"q": self.search, "job": str(self.job.id) if self.job else ""}
        query = urlencode({name: value for name, value in given.items() if value})
        return f"?{query}" if query else ""

    @property
    def write_url(self) -> str:
        """Return the address of the page to write to them."""
        return reverse("write_to_pool") + self.query

    @property
    def url(self) -> str:
        """Return the address of their list."""
        return reverse("talent_pool") + self.query
