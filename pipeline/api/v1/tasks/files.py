"""Endpoints for files that tasks made for a company, and for rows that an import refused."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_page_answer
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import File, Tag, describes
from pipeline.api.pagination import page_cursor_number, page_limit
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.tasks.outputs import ImportedRowOut, imported_row_out
from pipeline.domain.permissions import Action
from pipeline.files.read import read_file_pieces, read_stored_file
from pipeline.imports.outcomes import outcomes_of_import
from pipeline.imports.progress import progress_of_import_task
from pipeline.imports.refusals import report_of_refused_rows
from pipeline.selectors.cursors import encode_cursor

security = logging.getLogger("security")

CSV = "text/csv"


class AnyTaskFileKind(DefaultContentNegotiation):
    """Negotiation that ignores the Accept header, because a file has only one type."""

    def select_renderer(  # type: ignore[override]  # as the framework calls it
        self,
        request: Request,
        renderers: Sequence[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the JSON renderer, for refusals."""
        return renderers[0], renderers[0].media_type


class RefusedRowsFile(Endpoint):
    """`/tasks/{id}/refused-rows`"""

    content_negotiation_class = AnyTaskFileKind

    @describes(
        "get_refused_rows",
        Tag.TASKS,
        Action.READ_COMPANY,
        File((CSV,)),
        headers=("Content-Disposition",),
        about="Correct the rows, then import this file: its other columns are ignored. Do not"
        " import the first file again: that would add people again whose applications have"
        " ended since. Any `Accept` works.",
    )
    def get(self, request: Request, task_id: UUID) -> HttpResponseBase:
        """Return the rows that an import refused, with the reasons, as CSV."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        seen = progress_of_import_task(caller.company_id, task_id)
        return _task_file_answer(
            report_of_refused_rows(seen), f"{CSV}; charset=utf-8", f"refused-{task_id}.csv"
        )


class ImportedRows(Endpoint):
    """`/tasks/{id}/rows`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_imported_rows",
        Tag.TASKS,
        Action.READ_COMPANY,
        PageOf[ImportedRowOut],
        parameters=PAGED,
        about="Rows that the import has not reached are missing; `/refused-rows` has them when it"
        " has ended. Kept for seven days.",
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """List what became of the rows of an import, in their order."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        run = progress_of_import_task(caller.company_id, task_id).run
        after, limit = page_cursor_number(request), page_limit(request)
        outcomes = outcomes_of_import(run, after=after or 0, limit=limit + 1)
        following = encode_cursor(outcomes[limit - 1].row) if len(outcomes) > limit else None
        data = [imported_row_out(each) for each in outcomes[:limit]]
        return endpoint_page_answer(request, {"data": data, "next_cursor": following})


class OneTaskFile(Endpoint):
    """`/files/{id}`"""

    content_negotiation_class = AnyTaskFileKind

    @describes(
        "get_file",
        Tag.TASKS,
        Action.READ_COMPANY,
        File((CSV, "application/jsonl")),
        headers=("Content-Disposition",),
        about="Its id is in the result of the task that made it. It is kept for seven days. Any"
        " `Accept` works.",
    )
    def get(self, request: Request, file_id: UUID) -> HttpResponseBase:
        """Return a file that was made for the company."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        file = read_stored_file(caller.company_id, file_id)
        security.info("file.downloaded", extra={"file": str(file_id)})
        return _task_file_answer(
            read_file_pieces(file.id), file.content_type, file.name, file.size_bytes
        )


def _task_file_answer(
    pieces: Iterable[bytes], content_type: str, name: str, size_bytes: int | None = None
) -> HttpResponseBase:
    response = StreamingHttpResponse(pieces, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    if size_bytes is not None:
        response["Content-Length"] = str(size_bytes)
    return response
