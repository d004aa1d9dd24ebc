"""Download of a job's whole line or log, streamed."""

from __future__ import annotations

import logging
from uuid import UUID

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipeline.exports.formats import TYPES, in_pieces, is_known, lines_of, name_of
from pipeline.pages.access import for_members, own_job

security = logging.getLogger("security")

PIECE = 64 * 1_024  # approximate number of characters sent at a time


@require_safe
@for_members()
def export(request: HttpRequest, job_id: UUID, what: str, format: str) -> StreamingHttpResponse:
    """Stream `applications` or `log` as `csv` or `jsonl`, as of one instant; else answer 404."""
    _, job = own_job(request, job_id)
    if not is_known(what, format):
        raise Http404
    security.info("export.downloaded", extra={"job": str(job.id), "what": what})
    pieces = in_pieces(lines_of(job, what, format), characters=PIECE, first_at_once=True)
    response = StreamingHttpResponse(pieces, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{name_of(job, what, format)}"'
    response["Cache-Control"] = "private, no-store"
    return response
