"""Settings page of a job: posting, policy, and how long personal data is kept."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_POST

from jobs import activity
from jobs.models import Job, JobStatus, Retention
from jobs.retention import period_of
from pipeline.domain.errors import DrawRefused, IllegalJobMove, StaleVersion
from pipeline.domain.permissions import Action
from pipeline.form.versions import read_draft
from pipeline.pages import draws
from pipeline.pages.access import Member, for_members, own_job, require_permission
from pipeline.pages.company import rule_groups
from pipeline.pages.company.consequences import describe_opened_form
from pipeline.pages.company.forms import (
    DraftSettingsForm,
    PolicyForm,
    PostingForm,
    SettingsForm,
    policy_values,
    posting_values,
)
from pipeline.pages.company.rule_groups import build_rule_groups
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm
from pipeline.privacy import retention
from pipeline.selectors.jobs import read_job
from pipeline.services.jobs import JobChanges, Version, update_job
from pipeline.wording.events import reason_word_choices
from pipeline.wording.explanations import describe_target, explain_line, explained_quiet_hours
from pipeline.wording.language import number as in_digits
from pipeline.wording.postings import describe_facts

EXPORTS = [
    ("applications", "csv", gettext_lazy("Applications, CSV")),
    ("applications", "jsonl", gettext_lazy("Applications, JSON lines")),
    ("log", "csv", gettext_lazy("Log, CSV")),
    ("log", "jsonl", gettext_lazy("Log, JSON lines")),
]
TRIES = 3  # attempts to save while the line keeps moving


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show and save a job's settings. Owners save posting and policy, recruiters the posting."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _render(request, member, job)
    is_whole = request.POST.get("section") != "posting"
    require_permission(member, Action.CHANGE_RULES if is_whole else Action.EDIT_POSTING)
    form = (_rules_form(job) if is_whole else PostingForm)(request.POST)
    if "preview" in request.POST:
        return _render(request, member, job, form, preview=PolicyForm(request.POST))
    if not form.is_valid():
        return _render(request, member, job, form, status=422)
    return _save(request, member, job, form)


def _rules_form(job: Job) -> type[SettingsForm]:
    """Return the form for posting and rules. Only a draft's draw can get another time."""
    is_drawn_later = job.status == JobStatus.DRAFT and job.draw_at is not None
    return DraftSettingsForm if is_drawn_later else SettingsForm


def _save(request: HttpRequest, member: Member, job: Job, form: PostingForm) -> HttpResponse:
    posting = {name: form.cleaned_data[name] for name in PostingForm.base_fields}
    policy = form.policy() if isinstance(form, SettingsForm) else job.policy
    draw_at = form.cleaned_data.get("draw_at")
    if job.draw_at and draw_at == job.draw_at.replace(second=0, microsecond=0):
        draw_at = None  # as the form showed it
    alteration = JobChanges(
        posting=posting if posting != posting_values(job.posting) else {},
        policy=policy.values() if policy != job.policy else {},
        draw_at=draw_at,
    )
    try:
        refusal = _alter(request, member, job, alteration)
    except DrawRefused as error:
        form.add_error("draw_day", str(error))
        return _render(request, member, job, form, status=422)
    if refusal:
        form.add_error(None, refusal)
        return _render(request, member, read_job(job.id), form, status=409)
    messages.success(request, _describe_saved(alteration))
    if isinstance(form, SettingsForm):
        rule_groups.warn_of_short_window(request, form.policy())
    return redirect("job_settings", job_id=job.id)


def _describe_saved(alteration: JobChanges) -> str:
    """Say what was saved, and from when on it counts."""
    has_rules = alteration.policy or alteration.draw_at
    if has_rules and alteration.posting:
        return _(
            "The posting and rules are saved. The rules apply from now on: running deadlines,"
            " places in line and cool-downs stay as they are."
        )
    if has_rules:
        return _(
            "The rules are saved. The rules apply from now on: running deadlines, places in line"
            " and cool-downs stay as they are."
        )
    if alteration.posting:
        return _("The posting is saved.")
    return _("There were no changes to save.")


def _alter(request: HttpRequest, member: Member, job: Job, alteration: JobChanges) -> str:
    """Change a job if it is still as the form showed it. Return why not, or an empty string."""
    if job.status == JobStatus.CLOSED:
        return explain_refusal(IllegalJobMove(status=job.status, verb="change"))
    was_opened = "draw_day" in request.POST and job.status != JobStatus.DRAFT
    seen_posting, seen_policy = (request.POST.get(f"seen_{name}") for name in ("posting", "policy"))
    for _try in range(TRIES):
        other_posting = alteration.posting and seen_posting != str(job.posting.version)
        has_rules = alteration.policy or alteration.draw_at
        if other_posting or was_opened or (has_rules and seen_policy != str(job.policy_version)):
            return explain_refusal(StaleVersion())
        now = Version(job.seq, job.posting.version)
        try:
            update_job(job_id=job.id, changes=alteration, actor=member.actor, seen=now)
        except StaleVersion:
            job = read_job(job.id)  # a new applicant alone does not make the form stale
        except IllegalJobMove as error:
            return explain_refusal(error)
        else:
            return ""
    return explain_refusal(StaleVersion())


def _render(
    request: HttpRequest,
    member: Member,
    job: Job,
    form: PostingForm | None = None,
    *,
    status: int = 200,
    preview: PolicyForm | None = None,
) -> HttpResponse:
    is_closed = job.status == JobStatus.CLOSED
    rules = job.policy
    if preview is not None and preview.is_valid():
        rules = preview.policy()
    values = posting_values(job.posting) | policy_values(job.policy)
    values |= draws.form_values(job) | {"draw_at": job.draw_at}
    form = form or _rules_form(job)(initial=values)
    draw, clock = draws.describe_time(job), job.review_clock
    if preview is not None and form.is_valid() and "draw_at" in form.cleaned_data:
        draw = draws.describe_form(form.cleaned_data)
    draft = read_draft(job)
    context: dict[str, Any] = {
        "job": job,
        "draft": draft,
        "asked_on_opening": describe_opened_form(draft),
        "tab": "settings",
        "form": form,
        "groups": build_rule_groups(form, job.policy),
        "has_order": isinstance(form, DraftSettingsForm),
        "meanwhile": _changed_meanwhile(form, values) if status == 409 else [],
        "may_edit": member.may(Action.EDIT_POSTING) and not is_closed,
        "may_rule": member.may(Action.CHANGE_RULES) and not is_closed,
        "is_closed": is_closed,
        "works": explain_line(rules, job.capacity, draw)
        if not preview or preview.is_valid()
        else [],
        "previewed": preview is not None,
        "api": request.build_absolute_uri(f"/api/v1/jobs/{job.id}"),
        "aim": clock and describe_target(clock.target_seconds, works=clock.hours is not None),
        "reasons": reason_word_choices(),
        "exports": EXPORTS,
        "facts": describe_facts(job.posting),
        "retention": retention_form(job),
        "quiet": explained_quiet_hours(job.policy),
        "may_keep": member.may(Action.MANAGE_TEAM),
        **rule_groups.short_window_context(job.policy),
    }
    return render(request, "company/settings.html", context, status=status)


def _changed_meanwhile(form: PostingForm, now: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the label and current value of every field that a stale form has differently."""

    def text_of_setting(value: object) -> str:
        if value is None:
            return _("no limit")
        if isinstance(value, bool):
            return pgettext("setting", "yes") if value else pgettext("setting", "no")
        return str(value) or pgettext("setting", "empty")

    given = form.cleaned_data
    return [
        (str(form.fields[name].label or name.capitalize()), text_of_setting(now[name]))
        for name in form.fields
        if name in now and given.get(name) != now[name]
    ]


# Retention of a job's personal data: the number of days, and a legal hold.


LEAST_DAYS, MOST_DAYS = Retention.LEAST_DAYS, Retention.MOST_DAYS


def _describe_period() -> str:
    return _(
        "After an application has ended: %(least)s to %(most)s days. Then all personal data is"
        " erased; the log stays."
    ) % {"least": LEAST_DAYS, "most": in_digits(MOST_DAYS)}


class RetentionForm(PlainForm):
    """Form for the number of days and the legal hold."""

    keep_days = forms.IntegerField(
        min_value=LEAST_DAYS,
        max_value=MOST_DAYS,
        label=gettext_lazy("Days to keep personal data"),
        help_text=lazy(_describe_period, str)(),
    )
    legal_hold = forms.BooleanField(
        required=False,
        label=gettext_lazy("Legal hold: keep everything until this is switched off"),
    )


def retention_form(job: Job) -> RetentionForm:
    """Return the form with the job's current values."""
    kept = period_of(job)
    return RetentionForm(initial={"keep_days": kept.days, "legal_hold": kept.legal_hold})


@require_POST
@for_members()
def save_retention(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Save a job's retention, even of a closed job. Owners only."""
    member, job = own_job(request, job_id, Action.MANAGE_TEAM)
    form = RetentionForm(request.POST)
    if form.is_valid():
        retention.set_period(job_id=job.id, **form.cleaned_data)
        activity.note(
            retention.PERIOD_CHANGED,
            company_id=job.company_id,
            by=member.user.id,
            job_id=job.id,
        )
        messages.success(request, _("Saved. The change takes effect tonight."))
    else:
        words = _("Enter %(least)s to %(most)s days. Nothing was changed.")
        messages.error(request, words % {"least": LEAST_DAYS, "most": in_digits(MOST_DAYS)})
    return redirect("job_settings", job_id=job.id)
