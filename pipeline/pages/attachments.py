"""Files of applicants on pages: the field to choose them, and uploads at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from jobs.models import Job, JobStatus
from pipeline.attachments import kinds, uploads
from pipeline.attachments.uploads import holder_of
from pipeline.domain.errors import LineError
from pipeline.models import Attachment
from pipeline.pages import limits
from pipeline.pages.access import current_applicant, public_job, switch_current_member
from pipeline.pages.limits import TooOften

# Session key of the secret that binds a visitor's uploads to their browser.
HOLDER = "upload_holder"


def holder_of_browser(request: HttpRequest, *, create: bool = False) -> bytes:
    """Return whose uploads a browser's are: the signed-in applicant's, else this session's.

    With `create`, a browser without a session gets one; else it has no uploads.
    """
    if person := current_applicant(request):
        return holder_of("person", person.id)
    if HOLDER not in request.session:
        if not create:
            return b""
        request.session[HOLDER] = token_urlsafe(16)
    return holder_of("browser", request.session[HOLDER])


# The field of a form.


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """Files that a form was sent with, and the ids of those that were uploaded before."""

    ids: Sequence[UUID]
    files: Sequence[UploadedFile]


class AttachmentsInput(forms.Widget):
    """Input of files, which are uploaded at once where there is JavaScript."""

    needs_multipart_form = True
    field: AttachmentsField

    def value_from_datadict(
        self, data: Any, files: MultiValueDict[str, UploadedFile], name: str
    ) -> ChosenFiles:
        """Return what was chosen. Malformed ids are ignored, because nobody writes them by hand."""
        ids = []
        for text in data.getlist(f"{name}_id") if hasattr(data, "getlist") else []:
            with suppress(ValueError):
                ids.append(UUID(text))
        chosen = files.getlist(name) if hasattr(files, "getlist") else []
        return ChosenFiles(list(dict.fromkeys(ids)), chosen)

    def use_required_attribute(self, initial: Any) -> bool:
        """Return False: the files may be uploaded already, and the input empty."""
        return False

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """Return whether nothing was chosen."""
        return not data.get(f"{name}_id") and name not in files

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Return the input, with the files that are uploaded already."""
        field = self.field
        ids = value.ids if isinstance(value, ChosenFiles) else []
        context = {
            "name": name,
            "attrs": self.build_attrs(self.attrs, attrs),
            "accept": kinds.accepted(field.file_kinds),
            "file_kinds": ", ".join(field.file_kinds),
            "most": field.most,
            "megabytes": settings.ATTACHMENT_BYTES // 2**20,
            "uploads": field.find_uploads(ids),
            "upload_url": reverse("upload_file", args=[field.job.id]),
            "question_id": field.question_id or "",
        }
        return render_to_string("components/attachments_input.html", context)


class AttachmentsField(forms.Field):
    """Field for files of an application. Its cleaned value is a list of ids for `attach`.

    Cleaning it uploads the files that came with the form, because a refused form then shows them
    as chosen. They wait for an hour.
    """

    widget = AttachmentsInput

    def __init__(
        self,
        request: HttpRequest,
        job: Job,
        *,
        question_id: UUID | None = None,
        most: int | None = None,
        file_kinds: Sequence[str] = (),
        **named: Any,
    ) -> None:
        named.setdefault("label", gettext_lazy("CV and other files"))
        super().__init__(**named)
        self.request, self.job, self.question_id = request, job, question_id
        self.file_kinds = file_kinds
        # Files of the application that can stay an answer.
        self.attached: Sequence[Attachment] = ()
        self.most = min(most or settings.ATTACHMENTS_PER_APPLICATION, _limit())
        self._uploaded: dict[int, UUID] = {}
        self.widget.field = self

    def __deepcopy__(self, memo: Any) -> AttachmentsField:
        copied: AttachmentsField = super().__deepcopy__(memo)
        copied._uploaded = {}
        copied.widget.field = copied
        return copied

    def find_uploads(self, ids: Sequence[UUID]) -> list[Attachment]:
        """Return those that belong to the browser or the application already."""
        attached = [row for row in self.attached if row.id in ids]
        holder = holder_of_browser(self.request)
        if len(attached) == len(ids) or not holder:
            return attached
        return attached + uploads.find_unattached(ids, holder=holder)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what was chosen, with the files that are uploaded by now."""
        if not isinstance(data, ChosenFiles):
            return data
        return ChosenFiles([*data.ids, *self._uploaded.values()], [])

    def clean(self, value: ChosenFiles | None) -> list[UUID]:
        """Upload the files of the form, and return all ids. Raises ValidationError."""
        files = [file for file in value.files if file] if value else []
        ids = [row.id for row in self.find_uploads(value.ids)] if value else []
        if self.required and not ids and not files:
            raise ValidationError(_("Choose a file."), code="required")
        if self.most == 1 and files:
            ids = []  # one chosen later replaces it
        if len(ids) + len(files) > self.most:
            why = ngettext(
                "You can send one file here. Remove the others.",
                "You can send at most %(most)s files here. Remove the others.",
                self.most,
            )
            raise ValidationError(why, code="too_many", params={"most": self.most})
        for file in files:
            if id(file) not in self._uploaded:
                self._uploaded[id(file)] = self._upload(file).id
        return [*ids, *self._uploaded.values()]

    def _upload(self, file: UploadedFile) -> Attachment:
        try:
            return upload_file(self.request, self.job, file, question_id=self.question_id)
        except (LineError, TooOften) as error:
            raise ValidationError(f"{file.name}: {error}", code="refused") from None


def _limit() -> int:
    return int(settings.ATTACHMENTS_PER_APPLICATION)


def upload_file(
    request: HttpRequest, job: Job, file: UploadedFile, *, question_id: UUID | None = None
) -> Attachment:
    """Store a file until an application takes it. Raises LineError, TooOften."""
    limits.count_request(request, "upload")
    return uploads.add(
        company_id=job.company_id,
        job_id=job.id,
        holder=holder_of_browser(request, create=True),
        name=file.name or "",
        size_bytes=file.size or 0,
        content=file.chunks(),
        question_id=question_id,
    )


# Uploads at once, by the script of the field.


@require_POST
def upload(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Store one file for an application to this job: 201 and its id, or why it is refused."""
    job = public_job(request, job_id)
    file = request.FILES.get("file")
    writes = current_applicant(request) or switch_current_member(request, job.company_id)
    if job.status != JobStatus.OPEN and not writes:
        return JsonResponse({"detail": _("This job takes no applications now.")}, status=409)
    if file is None:
        return JsonResponse({"detail": _("Choose a file.")}, status=400)
    question_id = None
    with suppress(ValueError):
        question_id = UUID(request.POST.get("question_id", ""))
    try:
        row = upload_file(request, job, file, question_id=question_id)
    except TooOften as refused:
        headers = {"Retry-After": str(refused.wait_seconds)}
        return JsonResponse({"detail": str(refused)}, status=429, headers=headers)
    except LineError as error:
        return JsonResponse({"detail": str(error)}, status=409)
    return JsonResponse({"id": str(row.id), "name": row.name, "size": row.size_bytes}, status=201)


@require_POST
def discard(request: HttpRequest, job_id: UUID, upload_id: UUID) -> HttpResponse:
    """Remove one of the browser's uploads that no application has taken yet. 204 in any case."""
    public_job(request, job_id)
    if holder := holder_of_browser(request):
        uploads.discard(upload_id, holder=holder)
    return HttpResponse(status=204)
