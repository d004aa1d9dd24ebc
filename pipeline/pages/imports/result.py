"""Progress of an import, and its refused rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from jobs.models import Job
from pipeline.domain.errors import StoredFileNotFound
from pipeline.domain.permissions import Action
from pipeline.imports.progress import ImportProgress, progress_of_import
from pipeline.imports.refusals import (
    first_waiting_row,
    import_refusal_in_words,
    refusals_of_import,
    report_of_refused_rows,
)
from pipeline.models import ImportRun
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.live_page import live_page
from pipeline.wording.task_words import IMPORT_ENDING_WORDS, TASK_STATUS_WORDS
from tasks.models.statuses import Status

REFUSALS_SHOWN = 50
BUSY_POLL_SECONDS, CALM_POLL_SECONDS = 2, 30


@require_safe
@for_members(Action.IMPORT_APPLICATIONS)
def import_result(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponse:
    """Show one import; the page updates itself while it runs."""
    _, job, seen = own_import_result(request, job_id, import_id)
    run = seen.run
    state = (
        *(run.is_read, run.next_row, run.refused, run.ending, run.finished_at, seen.task_status),
        *(run.check_only, run.checked_at, run.undo_by, run.undone, run.undo_ended_at),
        *(seen.undo_status, seen.can_undo, job.seats_free, job.status),
    )
    return live_page(
        request,
        "imports/result.html",
        "imports/_result.html",
        build=lambda: _import_result_context(job, seen),
        tag="-".join(map(str, state)),
    )


def _import_result_context(job: Job, seen: ImportProgress) -> dict[str, Any]:
    run = seen.run
    refusals = refusals_of_import(run, limit=REFUSALS_SHOWN) if run.refused else []
    tone = "warn" if seen.is_over else "wait"
    if run.ending == ImportRun.Ending.COMPLETE:
        tone = "good"
    if run.undo_by:
        state = "Being undone" if seen.is_being_undone else "Undone in part"
        state = "Undone" if run.undo_ended_at else state
    elif run.check_only and not run.ending:
        state = "Check stopped" if seen.is_over else "Checking"
        state = "Checked: nobody was added" if run.checked_at else state
        tone = "good" if run.checked_at else tone
    elif not run.is_read and seen.task_status == Status.RUNNING:
        state = "Reading the file"
    elif run.ending:
        state = IMPORT_ENDING_WORDS[run.ending]
    elif seen.task_status in ("", Status.SUCCEEDED):
        state = "Ended"
    else:
        state = TASK_STATUS_WORDS[seen.task_status].label
    is_done = seen.is_over and not seen.is_being_undone
    poll_seconds = CALM_POLL_SECONDS if is_done else BUSY_POLL_SECONDS
    return {
        "job": job,
        "tab": "board",
        "seen": seen,
        "run": run,
        "state": state,
        "tone": tone,
        "refusals": [
            (each, import_refusal_in_words(each.reason, each.email, run.columns))
            for each in refusals
        ],
        "percent": 100 * run.next_row // max(1, run.total_rows),
        # 0: it does not change by itself again
        "poll_seconds": 0 if run.finished_at and is_done else poll_seconds,
        "first": first_waiting_row(run) if run.check_only else None,
        "good_rows": run.next_row - run.refused - run.already_there,
        "seats_free": 0 if job.awaits_draw else job.seats_free,
        "kept": run.accepted - run.undone,
        "time_left": seen.seconds_left,
    }


@require_safe
@for_members(Action.IMPORT_APPLICATIONS)
def import_result_refused(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponseBase:
    """Stream the refused rows and their reasons as a CSV file."""
    _, _, seen = own_import_result(request, job_id, import_id)
    response = StreamingHttpResponse(
        report_of_refused_rows(seen), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = 'attachment; filename="not-taken-in.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


def own_import_result(
    request: HttpRequest, job_id: UUID, import_id: UUID
) -> tuple[Member, Job, ImportProgress]:
    """Return an import into a job of the member's company. Raises StoredFileNotFound."""
    member, job = own_job(request, job_id, Action.IMPORT_APPLICATIONS)
    seen = progress_of_import(job.company_id, import_id)
    if seen.run.file.job_id != job.id:
        raise StoredFileNotFound
    return member, job, seen
