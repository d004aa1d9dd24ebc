"""Start of an import after a check, and undo of an import."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from pipeline.background.errors import WorkError
from pipeline.domain.errors import ImportUndoTooLate
from pipeline.domain.permissions import Action
from pipeline.imports.start import start_checked_import
from pipeline.imports.undo import start_undo_of_import
from pipeline.pages.access import for_members
from pipeline.pages.imports.result import own_import_result
from tasks.errors import TaskError


@require_POST
@for_members(Action.IMPORT_APPLICATIONS)
def start_checked_import_action(
    request: HttpRequest, job_id: UUID, import_id: UUID
) -> HttpResponse:
    """Import the people of a file that has only been checked."""
    member, job, _ = own_import_result(request, job_id, import_id)
    try:
        start_checked_import(
            company_id=job.company_id,
            import_id=import_id,
            actor=member.actor,
            producer=f"member:{member.user.id}",
        )
    except (TaskError, WorkError) as error:
        messages.error(request, str(error))
    return redirect("import_result", job_id=job.id, import_id=import_id)


@require_POST
@for_members(Action.IMPORT_APPLICATIONS)
def undo_import_action(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponse:
    """Start to remove the people whom an import added."""
    member, job, _ = own_import_result(request, job_id, import_id)
    try:
        start_undo_of_import(
            company_id=job.company_id,
            import_id=import_id,
            actor=member.actor,
            producer=f"member:{member.user.id}",
        )
    except ImportUndoTooLate as error:
        messages.error(request, str(error))
    return redirect("import_result", job_id=job.id, import_id=import_id)
