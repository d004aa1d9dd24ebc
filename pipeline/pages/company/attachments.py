"""Files of an application, for members of the company: the viewer and the download."""

from __future__ import annotations

from itertools import islice
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pipeline.attachments import storage
from pipeline.attachments.kinds import BY_CONTENT_TYPE
from pipeline.attachments.reads import decode_text, find_attachment, read_attachments
from pipeline.attachments.serving import file_response, log_look
from pipeline.domain.errors import AttachmentNotFound
from pipeline.domain.permissions import Action
from pipeline.form.answers import read_latest, replaced_files
from pipeline.pages.access import for_members, received_application
from pipeline.pages.company.decisions import possible_outcomes
from pipeline.selectors.jobs import read_job
from pipeline.selectors.review import find_pending_decision

# How much of a text is shown; the rest is in the download.
TEXT_PIECES = 2


@require_safe
@for_members()
def show(request: HttpRequest, application_id: UUID, attachment_id: UUID) -> HttpResponse:
    """Show a file beside the way to the decision, by a viewer that runs nothing of it."""
    member, seen = received_application(request, application_id)
    row = find_attachment(attachment_id, application_id=application_id)
    if row is None or not row.is_visible:
        raise AttachmentNotFound
    kind = BY_CONTENT_TYPE[row.content_type]
    text = ""
    if kind.shown_as == "text" and row.storage_key:
        text = decode_text(b"".join(islice(storage.read(row.storage_key), TEXT_PIECES)))
        log_look(row, by=f"member:{member.user.id}")
    files = read_attachments(application_id)
    latest = read_latest([application_id]).get(application_id)
    context = {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": read_job(seen.application.job_id),
        "file": row,
        "kind": kind,
        "text": text,
        "files": files,
        "replaced": replaced_files(files, latest.answers if latest else None),
        "may_decide": member.may(Action.DECIDE)
        and bool(possible_outcomes(seen))
        and find_pending_decision(application_id) is None,
    }
    return render(request, "company/attachment.html", context)


@require_safe
@for_members()
def download(request: HttpRequest, application_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Send a file, to be saved or to be read by the viewer."""
    member, _ = received_application(request, application_id)
    row = find_attachment(attachment_id, application_id=application_id)
    return file_response(row, by=f"member:{member.user.id}")
