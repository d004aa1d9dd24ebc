"""Files of the signed-in applicant's own application: adding, removing, opening."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job
from pipeline.attachments import uploads
from pipeline.attachments.reads import find_attachment
from pipeline.attachments.serving import file_response
from pipeline.domain.errors import LineError
from pipeline.pages.access import for_applicants, for_signed_in_applicants, own_application
from pipeline.pages.attachments import AttachmentsField, holder_of_browser
from pipeline.selectors.jobs import read_job


class FilesForm(forms.Form):
    """Files to add to an application."""

    def __init__(self, request: HttpRequest, job: Job, data: object = None) -> None:
        super().__init__(data, request.FILES if data is not None else None)  # type: ignore[arg-type]
        self.fields["files"] = AttachmentsField(request, job, label=_("Choose files"))


@require_POST
@for_signed_in_applicants
def add(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Add the chosen files to one's application."""
    _person, seen = own_application(request, application_id)
    job = read_job(seen.application.job_id)
    form = FilesForm(request, job, request.POST)
    if not form.is_valid():
        for error in form.errors["files"]:
            messages.error(request, str(error))
        return redirect("my_application", application_id)
    try:
        added = uploads.attach_later(
            form.cleaned_data["files"],
            application_id=application_id,
            question_id=None,
            holder=holder_of_browser(request),
        )
    except LineError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Files added: %(count)s.") % {"count": len(added)})
    return redirect("my_application", application_id)


@require_POST
@for_signed_in_applicants
def remove(request: HttpRequest, application_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Remove a file from one's application."""
    own_application(request, application_id)
    try:
        uploads.remove(attachment_id, application_id=application_id)
    except LineError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The file is removed."))
    return redirect("my_application", application_id)


@require_safe
@for_applicants
def download(request: HttpRequest, application_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Send a file of one's application, to be saved."""
    person, _seen = own_application(request, application_id)
    row = find_attachment(attachment_id, application_id=application_id)
    return file_response(row, by=f"applicant:{person.id}")
