"""A company's jobs, and making one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, current_member, for_members, member_who_sent, require
from pipeline.pages.company import forms
from pipeline.pages.company.seat_bar import SeatBar
from pipeline.pages.live_page import live_page
from pipeline.pages.paging import id_in, url_with
from pipeline.selectors.board import decay_worker
from pipeline.selectors.jobs import jobs_of_company
from pipeline.selectors.overview import glances
from pipeline.selectors.paging import Page
from pipeline.services.lifecycle import create_job
from pipeline.wording.explanations import how_the_line_works

JOBS_SHOWN = 20
LONGEST_SEARCH = 200
A_WHILE_SECONDS = 600
"""How often a page changes by itself because time passes: counts of the last hours or days."""

FAIR_WINDOW_SECONDS = 20 * 3_600
"""Less time than this to answer shuts people out: WCAG 2.2.1."""

SHORT_WINDOW = (
    "People have less than 20 hours to confirm a seat. Who sleeps, works or needs more time to read"
    " misses it: accessibility guidelines (WCAG 2.2.1) ask for at least 20 hours."
)


@for_members()
def company_jobs(request: HttpRequest) -> HttpResponse:
    """The company's jobs at a glance, newest first."""
    member = require(current_member(request), Action.READ_COMPANY)
    page = _jobs(request, member)
    states = [f"{job.id}{job.seq}-{job.posting.version}" for job in page.rows]
    now = int(decay_worker().now.timestamp()) // A_WHILE_SECONDS
    return live_page(
        request,
        "company/jobs.html",
        "company/_jobs.html",
        build=lambda: _overview(request, member, page),
        tag=f"{states}{page.more}{now}",
        jobs=[job.id for job in page.rows],
    )


def _jobs(request: HttpRequest, member: Member) -> Page[Any]:
    return jobs_of_company(
        member.company.id,
        status=_status(request),
        search=_search(request),
        after=id_in(request, "after"),
        limit=JOBS_SHOWN,
    )


def _status(request: HttpRequest) -> str | None:
    status = request.GET.get("status", "")
    return status if status in JobStatus.values else None


def _search(request: HttpRequest) -> str:
    return request.GET.get("q", "").strip().replace("\0", "")[:LONGEST_SEARCH]


def _overview(request: HttpRequest, member: Member, page: Page[Any]) -> dict[str, Any]:
    last = page.rows[-1] if page.rows else None
    here = request.GET.get("after")
    return {
        "member": member,
        "glances": [(glance, SeatBar.of(glance.job)) for glance in glances(page.rows)],
        "now": decay_worker().now,
        "status": _status(request) or "",
        "statuses": JobStatus.values,
        "search": _search(request),
        "filtered": bool(_status(request) or _search(request)),
        "next_url": url_with(request, after=str(last.id)) if page.more and last else "",
        "first_url": url_with(request, after=None) if here else "",
    }


@for_members()
def new_job(request: HttpRequest) -> HttpResponse:
    """Describe a job, see how its line will work, and create it as a draft or open."""
    member = require(member_who_sent(request), Action.CREATE_JOB)
    if request.method != "POST":
        initial = forms.policy_values(Policy()) | {"capacity": 3}
        return _new_job_page(request, forms.JobForm(initial=initial), Policy(), 3)
    rules, seats = forms.PolicyForm(request.POST), forms.CapacityForm(request.POST)
    if "preview" in request.POST and rules.is_valid() and seats.is_valid():
        kept = forms.JobForm(initial=request.POST.dict())
        return _new_job_page(request, kept, rules.policy(), seats.cleaned_data["capacity"])
    form = forms.JobForm(request.POST)
    if not form.is_valid():
        return _new_job_page(request, form, None, None, status=422)
    return redirect("board", job_id=_create(request, member, form))


def _create(request: HttpRequest, member: Member, form: forms.JobForm) -> UUID:
    opened = form.cleaned_data["start"] == JobStatus.OPEN
    job_id = create_job(
        company_id=member.company.id,
        posting=form.posting(),
        capacity=form.cleaned_data["capacity"],
        policy=form.policy(),
        actor=member.actor,
        open_now=opened,
    )
    state = "open: everybody can apply now" if opened else "a draft: only your company sees it"
    messages.success(request, f"“{form.cleaned_data['title']}” was created. It is {state}.")
    warn_of_short_window(request, form.policy())
    return job_id


def warn_of_short_window(request: HttpRequest, policy: Policy) -> None:
    """Say on the next page that people have too little time to confirm, if they have."""
    if policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS:
        messages.warning(request, SHORT_WINDOW)


def _new_job_page(
    request: HttpRequest,
    form: forms.JobForm,
    policy: Policy | None,
    capacity: int | None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "works": how_the_line_works(policy, capacity) if policy and capacity else [],
        "previewed": "preview" in request.POST,
        **short_window(policy),
    }
    return render(request, "company/new_job.html", context, status=status)


def short_window(policy: Policy | None) -> dict[str, Any]:
    """What a form says when the time to confirm is short, and whether it is."""
    short = policy is not None and policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS
    return {
        "short_window": SHORT_WINDOW,
        "is_short": short,
        "fair_window_seconds": FAIR_WINDOW_SECONDS,
    }
