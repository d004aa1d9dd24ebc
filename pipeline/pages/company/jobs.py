"""Pages that list a company's jobs, create one, and share its link."""

from __future__ import annotations

from datetime import timedelta
from html import escape
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from jobs.policies import Policy
from pipeline.domain.errors import DrawRefused
from pipeline.domain.permissions import Action
from pipeline.domain.states import POSITIONS
from pipeline.form.questions import Question, read_questions
from pipeline.form.versions import read_draft
from pipeline.models import JobTemplate
from pipeline.pages import draws, page_urls, qr_code
from pipeline.pages.access import (
    current_member,
    for_members,
    form_member,
    own_job,
    require_permission,
)
from pipeline.pages.company import contests, forms, job_templates, rule_groups, single_jobs
from pipeline.pages.company.rule_groups import build_rule_groups
from pipeline.pages.draws import DrawForm
from pipeline.pages.forms import QUIET_PREVIEW
from pipeline.pages.live_page import live_page
from pipeline.pages.sources import SourceForm
from pipeline.selectors.ageing import overdue_job_ids
from pipeline.selectors.board import overview_rows, read_decay_worker
from pipeline.selectors.job_applications import ReviewFilter
from pipeline.selectors.jobs import read_company_jobs
from pipeline.selectors.pages import Page
from pipeline.services.jobs import create_job
from pipeline.sources.origin import Origin, link_to
from pipeline.wording.english import isolated
from pipeline.wording.explanations import explain_line

JOBS_SHOWN = 20
LONGEST_SEARCH = 200
REFRESH_SECONDS = 600  # how often counts of the last hours or days change with time alone

FIRST_JOB = gettext_lazy(
    "Describe the work and say how many people you can review carefully at the same time. Everyone"
    " else waits in one line, which moves by itself whenever a seat opens."
)


@for_members(Action.READ_JOBS)
def index(request: HttpRequest) -> HttpResponse:
    """List the company's jobs, newest first; the page keeps itself up to date.

    For a member with single jobs, only these.
    """
    member = require_permission(current_member(request), Action.READ_JOBS)
    if not member.may(Action.READ_COMPANY):
        return single_jobs.index(request, member)
    status = request.GET.get("status", "")
    status = status if status in JobStatus.values else ""
    search = request.GET.get("q", "").strip().replace("\0", "")[:LONGEST_SEARCH]
    clock = read_decay_worker().now
    now = clock + timedelta(seconds=member.company.clock_offset_seconds)
    overdue = request.GET.get("review") == ReviewFilter.OVERDUE
    page: Page[Any] = read_company_jobs(
        member.company.id,
        status=status or None,
        search=search,
        among=overdue_job_ids(member.company.id, now) if overdue else None,
        after=page_urls.read_id(request, "after"),
        limit=JOBS_SHOWN,
    )
    states = [f"{job.id}{job.seq}-{job.posting.version}" for job in page.rows]
    to_answer = contests.read_unanswered(member.company.id)
    period = int(clock.timestamp()) // REFRESH_SECONDS
    return live_page(
        request,
        "company/jobs.html",
        "company/_jobs.html",
        build=lambda: {
            "member": member,
            **to_answer,
            "glances": sorted(
                overview_rows(page.rows, now),
                key=lambda glance: glance.job.status == JobStatus.CLOSED,  # those last
            ),
            "overdue": overdue,
            "now": clock,
            "status": status,
            "statuses": JobStatus.values,
            "search": search,
            "first_job": FIRST_JOB,
            "filtered": bool(status or search or overdue),
            **_turned_pages(request, page),
        },
        tag=f"{states}{page.more}{period}{to_answer}",
        jobs=[job.id for job in page.rows],
    )


def _turned_pages(request: HttpRequest, page: Page[Any]) -> dict[str, str]:
    """Return the URLs of the next and the first page of the list."""
    is_later, last = request.GET.get("after"), page.rows[-1:]
    return {
        "next_url": page_urls.change_query(request, after=str(last[0].id)) if page.more else "",
        "first_url": page_urls.change_query(request, after=None) if is_later else "",
    }


# Rules to start from, by their name in the URL.
PRESETS = {
    "usual": (gettext_lazy("Usual: a day to confirm, three misses"), Policy()),
    "quick": (
        gettext_lazy("Quick: 4 hours to confirm, one miss"),
        Policy(acknowledgment_window_seconds=14_400, max_decays=1),
    ),
    "patient": (
        gettext_lazy("Patient: three days to confirm, any number of misses"),
        Policy(acknowledgment_window_seconds=259_200, max_decays=None),
    ),
}
JOBS_TO_COPY = 8


@for_members()
def new(request: HttpRequest) -> HttpResponse:
    """Show the form for a new job, preview its line, and create it as a draft or open."""
    member = require_permission(form_member(request), Action.CREATE_JOB)
    if request.method != "POST":
        return _empty_page(request)
    rules, seats = forms.PolicyForm(request.POST), forms.CapacityForm(request.POST)
    if "preview" in request.POST and rules.is_valid() and seats.is_valid():
        draw = DrawForm(request.POST)
        draw_at = draw.cleaned_data["draw_at"] if draw.is_valid() else None
        kept = forms.JobForm(initial=request.POST.dict() | {"draw_at": draw_at})
        return _render_new(request, kept, rules.policy(), seats.cleaned_data["capacity"])
    form = forms.JobForm(request.POST)
    if not form.is_valid() or "preview" in request.POST:
        status = 200 if request.POST.get("preview") == QUIET_PREVIEW else 422
        return _render_new(request, form, None, None, status=status)
    opened = form.cleaned_data["start"] == JobStatus.OPEN
    try:
        job_id = create_job(
            company_id=member.company.id,
            posting=form.posting(),
            capacity=form.cleaned_data["capacity"],
            policy=form.policy(),
            actor=member.actor,
            open_now=opened,
            draw_at=form.cleaned_data["draw_at"],
            hiring={POSITIONS: form.cleaned_data[POSITIONS]},
            questions=_copied_questions(request),
        )
    except DrawRefused as error:
        form.add_error("draw_day", str(error))
        return _render_new(request, form, None, None, status=422)
    done = (
        _("“%(title)s” was created. It is open: everyone can apply.")
        if opened
        else _("“%(title)s” was created. It is a draft: only your company can see it.")
    )
    messages.success(request, done % {"title": isolated(form.cleaned_data["title"])})
    rule_groups.warn_of_short_window(request, form.policy())
    return redirect("board", job_id=job_id)


def _copied_questions(request: HttpRequest) -> tuple[Question, ...]:
    """Return the questions of the template or job from which the page began."""
    kept, copied = page_urls.read_id(request, "template"), page_urls.read_id(request, "like")
    if kept:
        return read_questions(job_templates.read_own(request, kept).questions)
    if copied:
        _member, like = own_job(request, copied, Action.CREATE_JOB)
        return read_draft(like).questions
    return ()


def _empty_page(request: HttpRequest) -> HttpResponse:
    """Show the form with usual rules, or with those of the template or job in the URL."""
    kept, copied = page_urls.read_id(request, "template"), page_urls.read_id(request, "like")
    if kept is None and copied is None:
        _words, rules = PRESETS.get(request.GET.get("rules", ""), PRESETS["usual"])
        initial = forms.policy_values(rules) | {"capacity": 3}
        initial["quiet_time_zone"] = get_current_timezone_name()
        return _render_new(request, forms.JobForm(initial=initial), rules, 3)
    like: Job | JobTemplate
    if copied and not kept:
        _member, like = own_job(request, copied, Action.CREATE_JOB)
    else:
        like = job_templates.read_own(request, kept)
    posting = like.posting if isinstance(like, Job) else like
    initial = forms.posting_values(posting) | forms.policy_values(like.policy)
    initial |= draws.earlier_form_values(like)
    initial |= {"capacity": like.capacity, POSITIONS: like.positions_to_fill}
    return _render_new(request, forms.JobForm(initial=initial), like.policy, like.capacity)


def _render_new(
    request: HttpRequest,
    form: forms.JobForm,
    policy: Policy | None,
    capacity: int | None,
    *,
    status: int = 200,
) -> HttpResponse:
    member = current_member(request)
    ours = member.company.id if member and request.method == "GET" else None
    jobs = ours and read_company_jobs(ours, status=None, search="", after=None, limit=JOBS_TO_COPY)
    context = {
        "form": form,
        "groups": build_rule_groups(form, policy),
        "presets": [(name, words) for name, (words, _rules) in PRESETS.items()],
        "earlier": jobs.rows if jobs else [],
        "templates": job_templates.read_all(ours) if ours else [],
        "works": explain_line(policy, capacity, draws.describe_form(form.initial))
        if policy and capacity
        else [],
        "previewed": "preview" in request.POST,
        **rule_groups.short_window_context(policy),
    }
    return render(request, "company/new_job.html", context, status=status)


# Share a job: its link, a QR code for paper, and a box for the company's own site.


BOX_PIXELS = 480, 240  # greatest width and height of the embedded box


@for_members()
@require_safe
def share(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the ways to point people to a job."""
    _member, job = own_job(request, job_id)
    origin = Origin.read(request.GET)
    link = link_to(_public_link(job), origin)
    named = {"title": job.posting.title, "company": job.company.name}
    title = escape(_("Apply: %(title)s, %(company)s") % named)
    box = link_to(f"{settings.SITE_URL}{reverse('job_embed', args=[job.id])}", origin)
    width, height = BOX_PIXELS
    context = {
        "job": job,
        "link": link,
        "origin": origin,
        "source_form": SourceForm(initial=origin.values),
        "qr": qr_code.draw_inline(link, _("QR code of %(link)s") % {"link": link}),
        "box_url": box,
        "box": (
            f'<iframe src="{escape(box)}" title="{title}" loading="lazy" height="{height}"\n'
            f'  style="width: 100%; max-width: {width}px; border: 0"></iframe>'
        ),
        "plain": f'<a href="{escape(link)}">{title}</a>',
        "is_public": job.status != JobStatus.DRAFT and not job.is_test,
    }
    return render(request, "company/share.html", context)


@for_members()
@require_safe
def download_qr_code(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Return the QR code of a job's link as a file, for posters and flyers."""
    _member, job = own_job(request, job_id)
    link = link_to(_public_link(job), Origin.read(request.GET))
    drawn = qr_code.draw_file(link, f"{job.posting.title}: {link}")
    name = slugify(job.posting.title)[:60] or "job"
    headers = {"Content-Disposition": f'attachment; filename="{name}-qr.svg"'}
    return HttpResponse(drawn, content_type="image/svg+xml", headers=headers)


def _public_link(job: Job) -> str:
    return f"{settings.SITE_URL}{reverse('opening', args=[job.id])}"
