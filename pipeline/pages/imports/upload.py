"""Upload of a file of people to import into a job's line."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from pipeline.background.errors import WorkError
from pipeline.domain.errors import FilesFull, ImportFileRefused, JobNotOpen
from pipeline.domain.permissions import Action
from pipeline.exports.formats import TYPES, formatted_csv_lines
from pipeline.imports.progress import imports_into_job, progress_of_import_task
from pipeline.imports.read_csv import MOST_BYTES, MOST_ROWS
from pipeline.imports.start import start_import
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.error_messages import error_message_for
from pipeline.pages.forms import PlainForm
from pipeline.pages.rate_limits import TooOften, limit_page_rate
from pipeline.wording.english import long_duration
from tasks.errors import TaskError

EARLIER_SHOWN = 5
SAMPLE = (
    {"name": "Ana Brown", "email": "ana@example.org"},
    {"name": "Brown, Ben", "email": "ben@example.org"},
)


class FileForm(PlainForm):
    """Form for the file."""

    file = forms.FileField(
        label="CSV file",
        help_text="Up to 100,000 people and 16 MB, in UTF-8.",
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,text/csv"}),
        error_messages={"empty": "The file is empty. The first line must name the columns."},
        max_length=200,
    )


@for_members(Action.IMPORT_APPLICATIONS)
def upload_import(request: HttpRequest, job_id: UUID) -> HttpResponse:
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
        "earlier": imports_into_job(job.company_id, job.id, limit=EARLIER_SHOWN),
        "most_rows": MOST_ROWS,
        "most_megabytes": MOST_BYTES // 2**20,
    }
    return render(request, "imports/upload.html", context, status=422 if form.errors else 200)


def _start_uploaded(request: HttpRequest, member: Member, job: Job, form: FileForm) -> UUID | None:
    """Start the import and return its id. If refused, return None and add an error to the form."""
    file: UploadedFile = form.cleaned_data["file"]
    try:
        limit_page_rate(request, "import", f"member:{member.user.id}")
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
        form.add_error(None, f"You have uploaded many files. Try again in {again}.")
    except (ImportFileRefused, FilesFull) as error:
        form.add_error("file", str(error))
    except JobNotOpen as error:
        form.add_error(None, error_message_for(error))
    except (TaskError, WorkError) as error:
        form.add_error(None, str(error))
    else:
        return progress_of_import_task(job.company_id, task.id).run.file_id
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
