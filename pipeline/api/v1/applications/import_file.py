"""Import of applications from JSON or a CSV file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import UnreadablePostError
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import throttles
from pipeline.api.auth import caller_of, own_job
from pipeline.api.endpoint import Endpoint, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import CSVParser, StrictJSONParser, refuse_unparsable_body
from pipeline.api.problem_types import (
    BACKPRESSURE,
    FILES_FULL,
    INVALID_FILE,
    JOB_NOT_OPEN,
    TYPE_NOT_ALLOWED,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.applications.shapes import ApplicationsImportIn
from pipeline.api.v1.tasks.shapes import TaskOut, task_out
from pipeline.domain.permissions import Action
from pipeline.files.imports.reading import MOST_BYTES
from pipeline.files.imports.rows import ImportRow, RowReader
from pipeline.files.imports.starting import start_import
from pipeline.work.catalog import paused_types_among
from pipeline.work.tasks import read_task

# Allowance for what a form adds around its file.
FORM_BYTES = 65_536
MOST_JSON_BYTES = 4_000_000
UNNAMED = "people.csv"
CSV, JSON, FORM = "text/csv", "application/json", "multipart/form-data"

_CSV = {
    "type": "string",
    "description": "CSV in UTF-8, or in UTF-16 with its mark, separated by commas, semicolons, tabs"
    " or bars, quoted as in RFC 4180. One of the first lines names the columns `name` (or"
    " `first name` and `last name`), `email` and perhaps `external_id` and `source`. A"
    " column with the label or key of one of the job's questions has its answers; others are"
    " ignored.",
}
_FORM = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}


class ImportApplications(Endpoint):
    """`/jobs/{id}/applications/import`"""

    renderer_classes = (NumberJSONRenderer,)

    parser_classes = (StrictJSONParser, CSVParser, MultiPartParser)
    most_bytes = MOST_BYTES + FORM_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read the body now, because it identifies a repeated request.

        Later, the framework would not allow it to be read whole.
        """
        is_json = request.content_type.partition(";")[0].strip().lower() == JSON
        refuse_unparsable_body(request, MOST_JSON_BYTES if is_json else self.most_bytes)
        plain = request._request
        try:
            plain._body = plain.read()
        except UnreadablePostError:
            raise ParseError(_("The body could not be read.")) from None
        super().initial(request, *args, **kwargs)

    @describes(
        "import_applications",
        Tag.APPLICATIONS,
        Action.IMPORT_APPLICATIONS,
        TaskOut,
        status=202,
        takes=(ApplicationsImportIn,),
        bodies={CSV: _CSV, FORM: _FORM},
        refuses=(INVALID_FILE, JOB_NOT_OPEN, FILES_FULL, TYPE_NOT_ALLOWED, BACKPRESSURE),
        headers=("Location",),
        about="JSON: at most 4 MB and 10,000 people. CSV: at most 16 MB and 100,000 rows. The task"
        " shows its progress and, at the end, how many rows were imported."
        " `/tasks/{task_id}/rows` has each row's application or the reason why it has none. A row"
        " whose `external_id` the same person's application to this job already has is"
        " `ALREADY_THERE`, so an import with ids can be repeated.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Import people as applications: 202 and the task."""
        caller, job = own_job(caller_of(request), job_id, Action.IMPORT_APPLICATIONS)
        throttles.check(request, "import", caller.log_name)
        made = start_import(
            company_id=caller.company_id,
            job_id=job.id,
            **_imported_list(request),
            actor=caller.actor,
            producer=caller.producer,
            key_id=caller.key_id,
            file_id=idempotent_row_id(request),
        )
        task = read_task(caller.company_id, made.id)
        where = {"Location": reverse("api_task", args=[task.id])}
        paused = paused_types_among(caller.company_id, [task])
        return Response(task_out(task, paused), status=202, headers=where)


def _imported_list(request: Request) -> dict[str, Any]:
    """Return the name of the list in a request, and its rows or its bytes."""
    match request.content_type.partition(";")[0].strip().lower():
        case "application/json":
            given = read_body(request, ApplicationsImportIn)["applications"]
            return {"name": "people.json", "content": (), "rows": _imported_rows(given)}
        case "text/csv":
            content: Any = request.data
            return {"name": UNNAMED, "content": content or ()}
    if len([each for _name, files in request.FILES.lists() for each in files]) > 1:
        raise ValidationError({"file": [ErrorDetail(_("Send one file."), "invalid")]})
    uploaded = request.FILES.get("file")
    if uploaded is None:
        raise ValidationError({"file": [ErrorDetail(_("This field is required."), "required")]})
    return {"name": uploaded.name or UNNAMED, "content": uploaded.chunks()}


def _imported_rows(given: list[dict[str, Any]]) -> list[ImportRow]:
    reader = RowReader()
    return [
        reader.read_row(
            number,
            person["name"],
            person["email"],
            person.get("external_id") or "",
            person.get("metadata"),
            person.get("answers"),
            person.get("source") or "",
        )
        for number, person in enumerate(given, start=1)
    ]
