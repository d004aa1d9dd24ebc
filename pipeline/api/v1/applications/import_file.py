"""Import of applications from a CSV file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import UnreadablePostError
from django.urls import reverse
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import own_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parsing import CSVParser, refuse_unparsable_body
from pipeline.api.problem_types import (
    BACKPRESSURE,
    FILES_FULL,
    INVALID_FILE,
    JOB_NOT_OPEN,
    TYPE_NOT_ALLOWED,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.throttles import check_throttle
from pipeline.api.v1.tasks.outputs import TaskOut, task_out
from pipeline.background.catalog import paused_types_among
from pipeline.background.tasks import task_of
from pipeline.domain.permissions import Action
from pipeline.imports.read_csv import MOST_BYTES
from pipeline.imports.start import start_import

# Allowance for what a form adds around its file.
FORM_BYTES = 65_536
UNNAMED = "people.csv"
CSV = "text/csv"

_CSV = {
    "type": "string",
    "description": "CSV in UTF-8, separated by commas, semicolons or tabs, quoted as in RFC 4180."
    " The first line names the columns `name` and `email`, in any order; others are ignored.",
}
_FORM = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}


class ImportApplications(Endpoint):
    """`/jobs/{id}/applications/import`"""

    renderer_classes = (NumberJSONRenderer,)

    parser_classes = (CSVParser, MultiPartParser)
    most_bytes = MOST_BYTES + FORM_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read the body now, because it identifies a repeated request.

        Later, the framework would not allow it to be read whole.
        """
        refuse_unparsable_body(request, self.most_bytes)
        plain = request._request
        try:
            plain._body = plain.read()
        except UnreadablePostError:
            raise ParseError("The body could not be read.") from None
        super().initial(request, *args, **kwargs)

    @describes(
        "import_applications",
        Tag.APPLICATIONS,
        Action.IMPORT_APPLICATIONS,
        TaskOut,
        status=202,
        bodies={CSV: _CSV, "multipart/form-data": _FORM},
        refuses=(INVALID_FILE, JOB_NOT_OPEN, FILES_FULL, TYPE_NOT_ALLOWED, BACKPRESSURE),
        headers=("Location",),
        about="At most 16 MB and 100,000 rows. The task shows its progress and, at the end, "
        "how many rows were imported. The others are in `/tasks/{task_id}/refused-rows`.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Import the people in a CSV file as applications: 202 and the task."""
        caller, job = own_job(caller_of(request), job_id, Action.IMPORT_APPLICATIONS)
        check_throttle(request, "import", caller.log_name)
        data: Any = request.data  # the columns by which it is read
        name, content = UNNAMED, data or ()
        if request.content_type.partition(";")[0] != CSV:
            if len([each for _, files in request.FILES.lists() for each in files]) > 1:
                raise ValidationError({"file": [ErrorDetail("Send one file.", "invalid")]})
            uploaded = request.FILES.get("file")
            if uploaded is None:
                required = ErrorDetail("This field is required.", "required")
                raise ValidationError({"file": [required]})
            name, content = uploaded.name or UNNAMED, uploaded.chunks()
        made = start_import(
            company_id=caller.company_id,
            job_id=job.id,
            name=name,
            content=content,
            actor=caller.actor,
            producer=caller.producer,
            key_id=caller.key_id,
            file_id=idempotent_row_id(request),
        )
        task = task_of(caller.company_id, made.id)
        where = {"Location": reverse("api_task", args=[task.id])}
        paused = paused_types_among(caller.company_id, [task])
        return Response(task_out(task, paused), status=202, headers=where)
