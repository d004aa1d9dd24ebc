"""What a job says of itself and what it asks: the settings, section by section."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jobs.models import Job, JobStatus, Role
from pipeline.errors import IllegalJobMove, StaleVersion
from pipeline.explanations import how_the_line_works
from pipeline.pages.access import Member, for_members, own_job, require
from pipeline.pages.company.forms import PolicyForm, PostingForm, policy_values, posting_values
from pipeline.pages.company.jobs import short_window, warn_of_short_window
from pipeline.pages.refusals import words_for
from pipeline.selectors.jobs import read_job
from pipeline.services.alter import Alteration, Version, alter_job

TRIES = 3
"""How often a change is tried again because the line moved on in that very moment."""


@for_members()
def job_settings(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The settings of a job; each section is saved by itself."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _page(request, member, job)
    if request.POST.get("section") == "policy":
        return _save_policy(request, require(member, Role.OWNER), job)
    return _save_posting(request, require(member, Role.RECRUITER), job)


def _save_posting(request: HttpRequest, member: Member, job: Job) -> HttpResponse:
    form = PostingForm(request.POST)
    if not form.is_valid():
        return _page(request, member, job, posting=form, status=422)
    changes = {name: form.cleaned_data[name] for name in PostingForm.base_fields}
    refusal = _alter(request, member, job, Alteration(posting=changes))
    if refusal:
        form.add_error(None, refusal)
        return _page(request, member, read_job(job.id), posting=form, status=409)
    messages.success(request, "The posting is saved.")
    return redirect("job_settings", job_id=job.id)


def _save_policy(request: HttpRequest, member: Member, job: Job) -> HttpResponse:
    form = PolicyForm(request.POST)
    if not form.is_valid():
        return _page(request, member, job, policy=form, status=422)
    policy = form.policy()
    refusal = _alter(request, member, job, Alteration(policy=policy.values()))
    if refusal:
        form.add_error(None, refusal)
        return _page(request, member, read_job(job.id), policy=form, status=409)
    messages.success(
        request,
        "The rules are saved. They hold for what happens from now on: running deadlines, places in"
        " line and cool-downs stay as they are.",
    )
    warn_of_short_window(request, policy)
    return redirect("job_settings", job_id=job.id)


def _alter(request: HttpRequest, member: Member, job: Job, alteration: Alteration) -> str:
    """Change a job if what is changed is still as the form showed it; else says why not."""
    for _ in range(TRIES):
        if request.POST.get("seen") != _state(job, alteration):
            return words_for(StaleVersion())
        now = Version(job.seq, job.posting.version)
        try:
            alter_job(job_id=job.id, alteration=alteration, actor=member.actor, seen=now)
        except StaleVersion:
            job = read_job(job.id)  # somebody applied meanwhile: that alone makes no form stale
        except IllegalJobMove as error:
            return words_for(error)
        else:
            return ""
    return words_for(StaleVersion())


def _state(job: Job, alteration: Alteration) -> str:
    return str(job.policy_version if alteration.policy else job.posting.version)


def _page(
    request: HttpRequest,
    member: Member,
    job: Job,
    *,
    posting: PostingForm | None = None,
    policy: PolicyForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "job": job,
        "tab": "settings",
        "posting": posting or PostingForm(initial=posting_values(job.posting)),
        "policy": policy or PolicyForm(initial=policy_values(job.policy)),
        "form": posting or policy,
        "posting_now": _changed_meanwhile(posting, posting_values(job.posting), status),
        "policy_now": _changed_meanwhile(policy, policy_values(job.policy), status),
        "may_edit": member.is_recruiter,
        "may_rule": member.is_owner and job.status != JobStatus.CLOSED,
        "is_closed": job.status == JobStatus.CLOSED,
        "works": how_the_line_works(job.policy, job.capacity),
        "api": request.build_absolute_uri(f"/api/v1/jobs/{job.id}"),
        "exports": [(what, form) for what in ("applications", "log") for form in ("csv", "jsonl")],
        **short_window(job.policy),
    }
    return render(request, "company/settings.html", context, status=status)


def _changed_meanwhile(
    form: PostingForm | PolicyForm | None, now: dict[str, Any], status: int
) -> list[tuple[str, str]]:
    """What a stale form says differently from the job as it is now: labels and present values."""
    if form is None or status != 409:
        return []
    given = form.cleaned_data
    return [
        (str(form.fields[name].label or name.capitalize()), _shown(now[name]))
        for name in form.fields
        if name in now and given.get(name) != now[name]
    ]


def _shown(value: object) -> str:
    return {None: "any number", True: "yes", False: "no", "": "nothing"}.get(value, str(value))  # type: ignore[call-overload]
