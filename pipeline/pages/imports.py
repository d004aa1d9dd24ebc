"""Progress of an import, and its refused rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job, JobStatus
from pipeline.domain.errors import (
    FilesFull,
    ImportFileRefused,
    ImportUndoTooLate,
    JobNotOpen,
    StoredFileNotFound,
)
from pipeline.domain.permissions import Action
from pipeline.files.exports import TYPES, formatted_csv_lines
from pipeline.files.imports.reading import MOST_BYTES, MOST_ROWS
from pipeline.files.imports.results import (
    ImportProgress,
    describe_refusal,
    first_refusals,
    first_waiting_row,
    read_progress,
    read_task_progress,
    recent_runs,
    refusal_report,
)
from pipeline.files.imports.starting import start_checked, start_import
from pipeline.files.imports.tasks import start_undo
from pipeline.models import ImportRun
from pipeline.pages import limits
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm
from pipeline.pages.limits import TooOften
from pipeline.pages.live_page import live_page
from pipeline.wording.english import long_duration
from pipeline.wording.task_words import IMPORT_ENDING_WORDS, TASK_STATUS_WORDS
from pipeline.work.start import WorkError
from tasks.errors import TaskError
from tasks.models import Status

REFUSALS_SHOWN = 50
BUSY_POLL_SECONDS, CALM_POLL_SECONDS = 2, 30


@require_safe
@for_members(Action.IMPORT_APPLICATIONS)
def show(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponse:
    """Show one import; the page updates itself while it runs."""
    _member, job, seen = read_own(request, job_id, import_id)
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
        build=lambda: _result_context(job, seen),
        tag="-".join(map(str, state)),
    )


def _result_context(job: Job, seen: ImportProgress) -> dict[str, Any]:
    run = seen.run
    refusals = first_refusals(run, limit=REFUSALS_SHOWN) if run.refused else []
    state, tone = _describe_state(seen)
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
            (each, describe_refusal(each.reason, each.email, run.columns, each.detail))
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


def _describe_state(seen: ImportProgress) -> tuple[str, str]:
    """Return in words how far an import is, and the tone of it."""
    run = seen.run
    tone = "warn" if seen.is_over else "wait"
    if run.undo_by:
        return _describe_undo(seen), "good" if run.ending == ImportRun.Ending.COMPLETE else tone
    if run.ending:
        is_complete = run.ending == ImportRun.Ending.COMPLETE
        return str(IMPORT_ENDING_WORDS[run.ending]), "good" if is_complete else tone
    if run.check_only:
        return _describe_check(seen), "good" if run.checked_at else tone
    if not run.is_read and seen.task_status == Status.RUNNING:
        return _("Reading the file"), tone
    if seen.task_status in ("", Status.SUCCEEDED):
        return pgettext("state", "Ended"), tone
    return str(TASK_STATUS_WORDS[seen.task_status].label), tone


def _describe_undo(seen: ImportProgress) -> str:
    if seen.run.undo_ended_at:
        return pgettext("state", "Undone")
    return _("Being undone") if seen.is_being_undone else _("Undone in part")


def _describe_check(seen: ImportProgress) -> str:
    if seen.run.checked_at:
        return _("Checked: nobody was added")
    return _("Check stopped") if seen.is_over else pgettext("state", "Checking")


@require_safe
@for_members(Action.IMPORT_APPLICATIONS)
def download_refused(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponseBase:
    """Stream the refused rows and their reasons as a CSV file."""
    _member, _job, seen = read_own(request, job_id, import_id)
    response = StreamingHttpResponse(refusal_report(seen), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="not-taken-in.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


def read_own(
    request: HttpRequest, job_id: UUID, import_id: UUID
) -> tuple[Member, Job, ImportProgress]:
    """Return an import into a job of the member's company. Raises StoredFileNotFound."""
    member, job = own_job(request, job_id, Action.IMPORT_APPLICATIONS)
    seen = read_progress(job.company_id, import_id)
    if seen.run.file.job_id != job.id:
        raise StoredFileNotFound
    return member, job, seen


# Start of an import after a check, and undo of an import.


@require_POST
@for_members(Action.IMPORT_APPLICATIONS)
def admit_checked(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponse:
    """Import the people of a file that has only been checked."""
    member, job, _seen = read_own(request, job_id, import_id)
    try:
        start_checked(
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
def undo(request: HttpRequest, job_id: UUID, import_id: UUID) -> HttpResponse:
    """Start to remove the people whom an import added."""
    member, job, _seen = read_own(request, job_id, import_id)
    try:
        start_undo(
            company_id=job.company_id,
            import_id=import_id,
            actor=member.actor,
            producer=f"member:{member.user.id}",
        )
    except ImportUndoTooLate as error:
        messages.error(request, str(error))
    return redirect("import_result", job_id=job.id, import_id=import_id)


# Upload of a file of people to import into a job's line.


EARLIER_SHOWN = 5
SAMPLE = (
    {"name": "Ana Brown", "email": "ana@example.org"},
    {"name": "Brown, Ben", "email": "ben@example.org"},
)


class FileForm(PlainForm):
    """Form for the file."""

    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        help_text=gettext_lazy(
            "Up to 100,000 people and 16 MB, in UTF-8, or in UTF-16 as “Unicode text”."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,text/csv"}),
        error_messages={
            "empty": gettext_lazy("The file is empty. A line at the top must name the columns.")
        },
        max_length=200,
    )


@for_members(Action.IMPORT_APPLICATIONS)
def upload(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the form and recent imports; start an import on POST."""
    member, job = own_job(request, job_id, Action.IMPORT_APPLICATIONS)
    form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        form = FileForm(request.POST, request.FILES)
        if form.is_valid() and (import_id := _start_uploaded(request, member, job, form)):
            return redirect("import_result", job_id=job.id, import_id=import_id)
    context = {
        "job": job,
        "tab": "board",
        "form": form,
        "is_open": job.status == JobStatus.OPEN,
        "earlier": recent_runs(job.company_id, job.id, limit=EARLIER_SHOWN),
        "most_rows": MOST_ROWS,
        "most_megabytes": MOST_BYTES // 2**20,
    }
    return render(request, "imports/upload.html", context, status=422 if form.errors else 200)


def _start_uploaded(request: HttpRequest, member: Member, job: Job, form: FileForm) -> UUID | None:
    """Start the import and return its id. If refused, return None and add an error to the form."""
    file: UploadedFile = form.cleaned_data["file"]
    try:
        limits.count_request(request, "import", f"member:{member.user.id}")
        task = start_import(
            company_id=job.company_id,
            job_id=job.id,
            name=file.name or "",
            content=file.chunks(),
            actor=member.actor,
            producer=f"member:{member.user.id}",
            check_only="check" in request.POST,
        )
    except TooOften as error:
        again = long_duration(error.wait_seconds)
        words = _("You have uploaded many files. Try again in %(time)s.")
        form.add_error(None, words % {"time": again})
    except (ImportFileRefused, FilesFull) as error:
        form.add_error("file", str(error))
    except JobNotOpen as error:
        form.add_error(None, explain_refusal(error))
    except (TaskError, WorkError) as error:
        form.add_error(None, str(error))
    else:
        return read_task_progress(job.company_id, task.id).run.file_id
    return None


@require_safe
@for_members(Action.IMPORT_APPLICATIONS)
def upload_sample(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Return a small sample file."""
    own_job(request, job_id, Action.IMPORT_APPLICATIONS)
    lines = formatted_csv_lines(("name", "email"), SAMPLE)
    response = HttpResponse("".join(lines), content_type=TYPES["csv"])
    response["Content-Disposition"] = 'attachment; filename="people.csv"'
    return response
