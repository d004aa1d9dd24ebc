"""Pages of a company's templates for messages: list, add, change, delete."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods

from applicants.forms import NameField
from pipeline.correspondence import templates
from pipeline.correspondence.threads import WRITE
from pipeline.models import MESSAGE_LENGTH, MESSAGE_TEMPLATE_NAME_LENGTH, MessageTemplate
from pipeline.pages.access import (
    Member,
    for_members,
    form_member,
    require_permission,
    switch_current_member,
)
from pipeline.pages.correspondence.bulk_messages import FIELDS_HELP
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.texts.fields import UnusableText


class TemplateForm(PlainForm):
    """Template of a message."""

    name = NameField(
        label=pgettext_lazy("label", "Name"),
        max_length=MESSAGE_TEMPLATE_NAME_LENGTH,
        help_text=gettext_lazy("Only your company sees it."),
    )
    text = LinesField(
        label=pgettext_lazy("label", "Text"),
        max_length=MESSAGE_LENGTH,
        help_text=FIELDS_HELP,
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": MESSAGE_LENGTH}),
    )

    def save(self, member: Member, template_id: UUID | None = None) -> bool:
        """Save what was entered; return False and say why in the form if it is refused."""
        given = self.cleaned_data
        try:
            templates.save(
                company_id=member.company.id,
                name=given["name"],
                text=given["text"],
                template_id=template_id,
            )
        except UnusableText as error:
            self.add_error("text", str(error))
            return False
        except templates.TemplateRefused as error:
            self.add_error("name", str(error))
            return False
        return True


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(WRITE)
def index(request: HttpRequest) -> HttpResponse:
    """List the company's templates, and add one on POST."""
    member = require_permission(form_member(request), WRITE)
    form = TemplateForm(request.POST or None)
    if form.is_valid() and form.save(member):
        messages.success(request, _("Saved. You can start messages from it."))
        return redirect("message_templates")
    context = {
        "member": member,
        "templates": templates.read_all(member.company.id),
        "most": templates.MOST_TEMPLATES,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "correspondence/templates.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(WRITE)
def edit(request: HttpRequest, template_id: UUID) -> HttpResponse:
    """Show a template, and change or delete it on POST."""
    row = MessageTemplate.objects.filter(id=template_id).first()
    member = switch_current_member(request, row.company_id) if row else None
    if row is None or member is None:
        raise Http404
    require_permission(member, WRITE)
    if "delete" in request.POST:
        templates.delete(company_id=member.company.id, template_id=template_id)
        messages.success(request, _("The template is deleted. Messages made from it stay."))
        return redirect("message_templates")
    form = TemplateForm(request.POST or None, initial={"name": row.name, "text": row.text})
    if form.is_valid() and form.save(member, template_id):
        messages.success(request, _("Saved. You can start messages from it."))
        return redirect("message_templates")
    context = {"member": member, "row": row, "form": form}
    status = 422 if form.errors else 200
    return render(request, "correspondence/template.html", context, status=status)
