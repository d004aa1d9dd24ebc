"""What a job says of itself and what it asks: the settings."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jobs.models import Job, JobStatus
from pipeline.domain.errors import IllegalJobMove, StaleVersion
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, own_job, require
from pipeline.pages.company.forms import (
    PostingForm,
    SettingsForm,
    policy_values,
    posting_values,
)
from pipeline.pages.company.jobs import short_window, warn_of_short_window
from pipeline.pages.error_messages import words_for
from pipeline.selectors.jobs import read_job
from pipeline.services.update_job import JobChanges, Version, update_job
from pipeline.wording.event_words import reason_choices
from pipeline.wording.explanations import how_the_line_works

TRIES = 3
"""How often a change is tried again because the line moved on in that very moment."""


@for_members()
def job_settings(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The settings of a job. An owner saves posting and rules together, a recruiter the posting."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _page(request, member, job)
    is_whole = request.POST.get("section") != "posting"
    require(member, Action.CHANGE_RULES if is_whole else Action.EDIT_POSTING)
    form = SettingsForm(request.POST) if is_whole else PostingForm(request.POST)
    if not form.is_valid():
        return _page(request, member, job, form, status=422)
    return _save(request, member, job, form)


def _save(request: HttpRequest, member: Member, job: Job, form: PostingForm) -> HttpResponse:
    alteration = _what_differs(job, form)
    refusal = _alter(request, member, job, alteration)
    if refusal:
        form.add_error(None, refusal)
        return _page(request, member, read_job(job.id), form, status=409)
    messages.success(request, _saved(alteration))
    if isinstance(form, SettingsForm):
        warn_of_short_window(request, form.policy())
    return redirect("job_settings", job_id=job.id)


def _what_differs(job: Job, form: PostingForm) -> JobChanges:
    """What the form says otherwise than the job as it is now."""
    posting = {name: form.cleaned_data[name] for name in PostingForm.base_fields}
    policy = form.policy() if isinstance(form, SettingsForm) else job.policy
    return JobChanges(
        posting=posting if posting != posting_values(job.posting) else {},
        policy=policy.values() if policy != job.policy else {},
    )


def _saved(alteration: JobChanges) -> str:
    if alteration.policy:
        what = "The posting and the rules are" if alteration.posting else "The rules are"
        return (
            f"{what} saved. The rules hold for what happens from now on: running deadlines, places"
            " in line and cool-downs stay as they are."
        )
    return "The posting is saved." if alteration.posting else "Nothing was different."


def _alter(request: HttpRequest, member: Member, job: Job, alteration: JobChanges) -> str:
    """Change a job if what is changed is still as the form showed it; else says why not."""
    if job.status == JobStatus.CLOSED:
        return words_for(IllegalJobMove(status=job.status, verb="change"))
    for _ in range(TRIES):
        if not _is_as_seen(request, job, alteration):
            return words_for(StaleVersion())
        now = Version(job.seq, job.posting.version)
        try:
            update_job(job_id=job.id, changes=alteration, actor=member.actor, seen=now)
        except StaleVersion:
            job = read_job(job.id)  # somebody applied meanwhile: that alone makes no form stale
        except IllegalJobMove as error:
            return words_for(error)
        else:
            return ""
    return words_for(StaleVersion())


def _is_as_seen(request: HttpRequest, job: Job, alteration: JobChanges) -> bool:
    seen = request.POST
    if alteration.posting and seen.get("seen_posting") != str(job.posting.version):
        return False
    return not alteration.policy or seen.get("seen_policy") == str(job.policy_version)


def _page(
    request: HttpRequest,
    member: Member,
    job: Job,
    form: PostingForm | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    is_closed = job.status == JobStatus.CLOSED
    values = posting_values(job.posting) | policy_values(job.policy)
    context: dict[str, Any] = {
        "job": job,
        "tab": "settings",
        "form": form or SettingsForm(initial=values),
        "meanwhile": _changed_meanwhile(form, values) if form and status == 409 else [],
        "may_edit": member.may(Action.EDIT_POSTING) and not is_closed,
        "may_rule": member.may(Action.CHANGE_RULES) and not is_closed,
        "is_closed": is_closed,
        "works": how_the_line_works(job.policy, job.capacity),
        "api": request.build_absolute_uri(f"/api/v1/jobs/{job.id}"),
        "reasons": reason_choices(),
        "exports": [(what, form) for what in ("applications", "log") for form in ("csv", "jsonl")],
        **short_window(job.policy),
    }
    return render(request, "company/settings.html", context, status=status)


def _changed_meanwhile(form: PostingForm, now: dict[str, Any]) -> list[tuple[str, str]]:
    """What a stale form says differently from the job as it is now: labels and present values."""
    given = form.cleaned_data
    return [
        (str(form.fields[name].label or name.capitalize()), _shown(now[name]))
        for name in form.fields
        if name in now and given.get(name) != now[name]
    ]


def _shown(value: object) -> str:
    if value is None:
        return "any number"
    if isinstance(value, bool):  # before it is looked up or compared: True == 1
        return "yes" if value else "no"
    return str(value) or "nothing"
