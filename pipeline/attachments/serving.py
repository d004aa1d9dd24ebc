"""Responses with a file's bytes, to be saved or read by a viewer: never a page of this site."""

from __future__ import annotations

import logging
from itertools import chain
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _

from jobs import activity
from pipeline.attachments import storage
from pipeline.domain.errors import AttachmentNotFound
from pipeline.models import Attachment

security = logging.getLogger("security")

FILE_OPENED = activity.declare(
    "attachment.opened", activity.Group.FILES, _("Opened a file of an applicant")
)

# A file cannot run, load or send anything, not even if a browser shows it as a page.
NOTHING_RUNS = "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'"


def file_response(row: Attachment | None, *, by: str) -> StreamingHttpResponse:
    """Return the response with a file's bytes, and note the look.

    Raises AttachmentNotFound, also for a file that nobody may see yet.
    """
    if row is None or not row.is_visible or row.storage_key is None:
        raise AttachmentNotFound
    pieces = storage.read(row.storage_key)
    first = next(pieces, b"")  # raises before the response begins
    response = StreamingHttpResponse(chain([first], pieces), content_type=row.content_type)
    named = content_disposition_header(as_attachment=True, filename=row.name)
    response["Content-Disposition"] = named or "attachment"
    response["Content-Length"] = str(row.size_bytes)
    response["Content-Security-Policy"] = NOTHING_RUNS
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    log_look(row, by=by)
    return response


def log_look(row: Attachment, *, by: str) -> None:
    """Note in the security log, and for the company's owners, that someone opened a file.

    `by`: a kind and an id, as of a producer of tasks.
    """
    ids = {"attachment": str(row.id), "application": str(row.application_id), "by": by}
    security.info("attachment.opened", extra=ids)
    kind, _sep, actor_id = by.partition(":")
    if kind in ("member", "key"):
        activity.note(
            FILE_OPENED,
            company_id=row.company_id,
            by=UUID(actor_id),
            job_id=row.job_id,
            application_id=row.application_id,
        )
