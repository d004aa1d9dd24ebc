"""Pages of a company's templates for new jobs: list, keep, rename, delete."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from applicants.forms import NameField
from applicants.texts import folded_name
from pipeline.domain.permissions import Action
from pipeline.models import TEMPLATE_NAME_LENGTH, JobTemplate
from pipeline.pages.access import (
    current_member,
    for_members,
    own_job,
    require_permission,
    switch_current_member,
)
from pipeline.pages.draws import BLANK_TIME
from pipeline.pages.forms import PlainForm
from pipeline.services.job_templates import (
    MOST_TEMPLATES,
    TemplateRefused,
    delete_template,
    keep_template,
    rename_template,
)
from pipeline.wording.english import isolated
from pipeline.wording.explanations import explain_line
from pipeline.wording.postings import describe_facts

MAY = Action.CREATE_JOB


class TemplateNameForm(PlainForm):
    """Name of a template."""

    name = NameField(
        label=pgettext_lazy("label", "Name"),
        max_length=TEMPLATE_NAME_LENGTH,
        help_text=gettext_lazy("Only your company sees it."),
    )


@require_safe
@for_members(MAY)
def index(request: HttpRequest) -> HttpResponse:
    """List the company's templates: all, since there are at most MOST_TEMPLATES."""
    member = require_permission(current_member(request), MAY)
    context = {"templates": read_all(member.company.id), "most": MOST_TEMPLATES}
    return render(request, "company/job_templates.html", context)


@require_http_methods(["GET", "POST"])
@for_members()
def keep(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Keep a job's settings as a template, after asking for its name."""
    _member, job = own_job(request, job_id, MAY)
    form = TemplateNameForm(request.POST or None, initial={"name": job.posting.title[:80]})
    if form.is_valid():
        try:
            row = keep_template(job=job, name=form.cleaned_data["name"])
        except TemplateRefused as error:
            form.add_error("name", str(error))
        else:
            done = _("“%(name)s” is saved as a template. New jobs can start from it.")
            messages.success(request, done % {"name": isolated(row.name)})
            return redirect("job_templates")
    context = {
        "form": form,
        "job": job,
        "works": explain_line(job.policy, job.capacity, str(BLANK_TIME) if job.draw_at else ""),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "company/keep_template.html", context, status=status)


@require_http_methods(["GET", "POST"])
@for_members()
def show(request: HttpRequest, template_id: UUID) -> HttpResponse:
    """Show a template, and rename it."""
    row = read_own(request, template_id)
    form = TemplateNameForm(request.POST or None, initial={"name": row.name})
    if form.is_valid():
        try:
            rename_template(template=row, name=form.cleaned_data["name"])
        except TemplateRefused as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, _("Name saved."))
            return redirect("job_templates")
    context = {
        "row": row,
        "form": form,
        "facts": describe_facts(row),
        "works": explain_line(row.policy, row.capacity, str(BLANK_TIME) if row.by_lot else ""),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "company/job_template.html", context, status=status)


@require_http_methods(["GET", "POST"])
@for_members()
def delete(request: HttpRequest, template_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a template."""
    row = read_own(request, template_id)
    if request.method == "GET":
        return render(request, "company/delete_template.html", {"row": row})
    delete_template(template=row)
    messages.success(request, _("“%(name)s” is deleted.") % {"name": isolated(row.name)})
    return redirect("job_templates")


def read_all(company_id: UUID) -> list[JobTemplate]:
    """Return a company's templates by name, without their long texts."""
    rows = JobTemplate.objects.filter(company_id=company_id).defer("description")
    return sorted(rows, key=lambda row: folded_name(row.name))


def read_own(request: HttpRequest, template_id: UUID | None) -> JobTemplate:
    """Return a template of one of the member's companies. Raises Http404, PermissionDenied."""
    row = JobTemplate.objects.filter(id=template_id).first() if template_id else None
    member = switch_current_member(request, row.company_id) if row else None
    if row is None or member is None:
        raise Http404
    require_permission(member, MAY)
    return row
