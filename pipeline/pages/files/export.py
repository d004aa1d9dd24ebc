"""Download of a job's whole line or log, streamed."""

from __future__ import annotations

import logging
from uuid import UUID

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipeline.exports.formats import (
    TYPES,
    formatted_file_name,
    formatted_lines,
    formatted_pieces,
    is_known_format,
)
from pipeline.line.removed_logs import refuse_removed_log_of
from pipeline.pages.access import for_members, own_job

security = logging.getLogger("security")

PIECE = 64 * 1_024  # approximate number of characters sent at a time


@require_safe
@for_members()
def stream_export(
    request: HttpRequest, job_id: UUID, what: str, format: str
) -> StreamingHttpResponse:
    """Stream `applications` or `log` as `csv` or `jsonl`, as of one instant.

    Otherwise answer 404.
    """
    _, job = own_job(request, job_id)
    if not is_known_format(what, format):
        raise Http404
    if what == "log":
        refuse_removed_log_of(job)
    security.info("export.downloaded", extra={"job": str(job.id), "what": what})
    pieces = formatted_pieces(
        formatted_lines(job, what, format), characters=PIECE, first_at_once=True
    )
    response = StreamingHttpResponse(pieces, content_type=TYPES[format])
    response["Content-Disposition"] = (
        f'attachment; filename="{formatted_file_name(job, what, format)}"'
    )
    response["Cache-Control"] = "private, no-store"
    return response
