"""Downloads of files that were prepared in the background, and the action to prepare one."""

from __future__ import annotations

import logging
from contextlib import suppress
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobs import activity
from pipeline.domain.errors import StoredFileNotFound
from pipeline.domain.permissions import Action
from pipeline.files import stored
from pipeline.files.exports import (
    FILE_DOWNLOADED,
    TYPES,
    formatted_lines,
    formatted_name,
    formatted_pieces,
    is_known_format,
    note_export,
)
from pipeline.files.stored import FILE_KEPT_DAYS, read_pieces
from pipeline.line import removed_logs
from pipeline.pages.access import (
    current_memberships,
    for_members,
    own_job,
    require_permission,
    switch_current_member,
)
from pipeline.work.start import TaskRequest, WorkError, start_tasks
from tasks.errors import TaskError

security = logging.getLogger("security")


@require_safe
@for_members()
def download(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    """Stream a file of one of the member's companies, or explain with 404 that it is gone."""
    for membership in current_memberships(request):
        with suppress(StoredFileNotFound):
            file = stored.read(membership.company_id, file_id)
            member = switch_current_member(request, membership.company_id)
            require_permission(member, Action.READ_COMPANY)
            break
    else:
        context = {"kept_days": FILE_KEPT_DAYS}
        return render(request, "files/file_gone.html", context, status=404)
    security.info("file.downloaded", extra={"file": str(file_id)})
    activity.note(
        FILE_DOWNLOADED, company_id=file.company_id, by=request.user.pk, job_id=file.job_id
    )
    response = StreamingHttpResponse(read_pieces(file.id), content_type=file.content_type)
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    response["Content-Length"] = str(file.size_bytes)
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_members()
def prepare_download(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Start writing a job's applications or log to a file, and show its progress."""
    member, job = own_job(request, job_id, Action.READ_COMPANY)
    what, _, format = request.POST.get("file", "").partition(".")
    if not is_known_format(what, format):
        raise Http404
    order = TaskRequest(f"{what}.export", {"job_id": str(job.id), "format": format})
    producer = f"member:{member.user.id}"
    try:
        (made,) = start_tasks(company_id=job.company_id, producer=producer, requests=[order])
    except (TaskError, WorkError) as error:
        messages.error(request, str(error))
        return redirect("timeline", job_id=job.id)
    return redirect("task", task_id=made.id)


# Download of a job's whole line or log, streamed.


PIECE = 64 * 1_024  # approximate number of characters sent at a time


@require_safe
@for_members()
def stream_export(
    request: HttpRequest, job_id: UUID, what: str, format: str
) -> StreamingHttpResponse:
    """Stream `applications` or `log` as `csv` or `jsonl`, as of one instant.

    Otherwise answer 404.
    """
    member, job = own_job(request, job_id)
    if not is_known_format(what, format):
        raise Http404
    if what == "log":
        removed_logs.refuse_known(job)
    security.info("export.downloaded", extra={"job": str(job.id), "what": what})
    note_export(job, by=member.user.id, what=what)
    pieces = formatted_pieces(
        formatted_lines(job, what, format), characters=PIECE, first_at_once=True
    )
    response = StreamingHttpResponse(pieces, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{formatted_name(job, what, format)}"'
    response["Cache-Control"] = "private, no-store"
    return response
