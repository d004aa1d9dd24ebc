"""Uploads of files to apply with, and the files of an application."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import IO, Annotated, Any, ClassVar, TypedDict
from uuid import UUID

from django.conf import settings
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import throttles
from pipeline.api.auth import (
    Caller,
    CompanyCaller,
    PersonCaller,
    PortalCaller,
    authorize,
    caller_of,
    on_job,
    represents_company,
    visible_application,
    visible_job,
)
from pipeline.api.endpoint import Endpoint, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import File, Tag, describes
from pipeline.api.parameters import StrictJSONParser, refuse_unparsable_body
from pipeline.api.problem_types import (
    FILE_NOT_ACCEPTED,
    FILES_FULL,
    INVALID_TRANSITION,
    LIMIT_REACHED,
    NOT_FOUND,
    UPLOAD_EXPIRED,
)
from pipeline.api.rendering import AnyFileKind
from pipeline.api.v1.fields import Id, Line, Shape, Whole
from pipeline.attachments import kinds, uploads
from pipeline.attachments.reads import find_attachment, find_upload, read_attachments
from pipeline.attachments.serving import file_response
from pipeline.attachments.uploads import holder_of
from pipeline.domain.errors import JobNotFound, UploadNotFound
from pipeline.domain.permissions import Action
from pipeline.form.answers import read_latest, replaced_files
from pipeline.models import FILE_NAME_LENGTH, Attachment

# Allowance for what a form adds around its file.
FORM_BYTES = 65_536
PIECE_BYTES = 65_536
FORM, BYTES = "multipart/form-data", "application/octet-stream"
_FORM_BODY = {
    "type": "object",
    "properties": {
        "job_id": {"type": "string", "format": "uuid"},
        "question_id": {"type": "string", "format": "uuid"},
        "file": {"type": "string", "format": "binary"},
    },
    "required": ["job_id", "file"],
}


def holder_of_caller(caller: Caller) -> bytes:
    """Return whose uploads a caller's are. Raises PermissionDenied."""
    match caller:
        case CompanyCaller(company_id=company_id):
            return holder_of("company", company_id)
        case PersonCaller(applicant_id=applicant_id) | PortalCaller(applicant_id=applicant_id):
            return holder_of("person", applicant_id)
    raise PermissionDenied(_("Only a company or an applicant can upload files."))


class AnnouncedUploadIn(Shape):
    """A file to come: for which job, its name and its length."""

    job_id = Id()
    question_id = Id(allow_null=True, default=None)
    name = Line(max_length=FILE_NAME_LENGTH)
    size_bytes = Whole(min_value=1, max_value=settings.ATTACHMENT_BYTES)


class UploadFormIn(Shape):
    """A file and the job that it is for, in a form."""

    job_id = Id()
    question_id = Id(allow_null=True, default=None)
    file = serializers.FileField(allow_empty_file=True)


class AddedFilesIn(Shape):
    """Uploads to add to an application."""

    upload_ids = serializers.ListField(child=Id(), min_length=1, max_length=20)


class FileOut(TypedDict):
    """A file of an application, or an upload that no application has yet.

    It can be opened while `state` is `CLEAN` or `UNSCANNED`. `replaced`: it answered a question,
    and the latest answers name another file, or none.
    """

    id: UUID
    job_id: UUID
    application_id: UUID | None
    question_id: UUID | None
    name: str
    content_type: str | None
    size_bytes: Annotated[int, ("minimum", 0)]
    sha256: str | None
    state: Annotated[str, Attachment.State]
    replaced: bool
    created_at: datetime
    received_at: datetime | None
    expires_at: datetime | None


class FilesOut(TypedDict):
    """The files of an application, oldest first."""

    data: list[FileOut]
    next_cursor: str | None


def _files_out(application_id: UUID) -> FilesOut:
    rows = read_attachments(application_id)
    latest = read_latest([application_id]).get(application_id)
    replaced = replaced_files(rows, latest.answers if latest else None)
    data = [file_out(row, is_replaced=row in replaced) for row in rows]
    return {"data": data, "next_cursor": None}


def file_out(row: Attachment, *, is_replaced: bool = False) -> FileOut:
    """Return a file for clients."""
    return {
        "id": row.id,
        "job_id": row.job_id,
        "application_id": row.application_id,
        "question_id": row.question_id,
        "name": row.name,
        "content_type": row.content_type or None,
        "size_bytes": row.size_bytes,
        "sha256": bytes(row.sha256).hex() if row.sha256 else None,
        "state": row.state,
        "replaced": is_replaced,
        "created_at": row.created_at,
        "received_at": row.received_at,
        "expires_at": row.expires_at,
    }


class StreamParser(BaseParser):
    """Parser that returns the body in pieces, whatever its type."""

    media_type = "*/*"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the pieces of a body."""
        return iter(partial(stream.read, PIECE_BYTES), b"")


class Uploads(Endpoint):
    """`/uploads`"""

    parser_classes = (StrictJSONParser, MultiPartParser)
    most_bytes: ClassVar[int] = settings.ATTACHMENT_BYTES + FORM_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a long body that is not a form."""
        if not _is_form(request):
            refuse_unparsable_body(request, Endpoint.most_bytes)
        super().initial(request, *args, **kwargs)

    def digest_body(self, request: Request) -> str:
        """Return the digest of a form, whose file is on disk by now, or of another body."""
        if not _is_form(request):
            return super().digest_body(request)
        digest = sha256(repr(sorted(dict(request.POST.lists()).items())).encode())
        for name, files in sorted(request.FILES.lists()):
            for file in files:
                digest.update(repr((name, file.name, file.size)).encode())
                for piece in file.chunks():
                    digest.update(piece)
                file.seek(0)
        return digest.hexdigest()

    @describes(
        "create_upload",
        Tag.APPLICATIONS,
        Action.UPLOAD,
        FileOut,
        status=201,
        takes=(AnnouncedUploadIn,),
        bodies={FORM: _FORM_BODY},
        refuses=(FILES_FULL, FILE_NOT_ACCEPTED, LIMIT_REACHED, NOT_FOUND),
        headers=("Location",),
        about="A form brings the file at once. After JSON, send the bytes with"
        " `PUT /uploads/{upload_id}/content`. An upload that no application takes within an hour"
        " is removed.",
    )
    def post(self, request: Request) -> Response:
        """Upload a file to apply with, or announce one: 201."""
        caller = caller_of(request)
        authorize(caller, Action.UPLOAD)
        throttles.check(request, "upload", caller.log_name)
        given = read_body(request, UploadFormIn if _is_form(request) else AnnouncedUploadIn)
        job = visible_job(caller, given["job_id"])
        if not _is_within_company(caller, job.company_id, job.id):
            raise JobNotFound
        facts = {
            "company_id": job.company_id,
            "job_id": job.id,
            "holder": holder_of_caller(caller),
            "question_id": given["question_id"],
            "upload_id": idempotent_row_id(request),
            "most_loose": None if isinstance(caller, CompanyCaller) else uploads.MOST_LOOSE,
        }
        if file := given.get("file"):
            content, size = file.chunks(), file.size
            row = uploads.add(**facts, name=file.name or "", size_bytes=size, content=content)
        else:
            row = uploads.create(**facts, name=given["name"], size_bytes=given["size_bytes"])
        where = {"Location": reverse("api_upload", args=[row.id])}
        return Response(file_out(row), status=201, headers=where)


def _is_form(request: Request) -> bool:
    return request.content_type.partition(";")[0].strip().lower() == FORM


class OneUpload(Endpoint):
    """`/uploads/{id}`"""

    @describes("get_upload", Tag.APPLICATIONS, Action.UPLOAD, FileOut)
    def get(self, request: Request, upload_id: UUID) -> Response:
        """Return an upload of the caller, also when an application has it."""
        return Response(file_out(_own_upload(request, upload_id)))

    @describes("delete_upload", Tag.APPLICATIONS, Action.UPLOAD, None, status=204)
    def delete(self, request: Request, upload_id: UUID) -> Response:
        """Remove an upload that no application has. Repeating it is harmless."""
        caller = caller_of(request)
        authorize(caller, Action.UPLOAD)
        with suppress(UploadNotFound):
            row = _own_upload(request, upload_id)
            uploads.discard(row.id, holder=bytes(row.holder))
        return Response(status=204)


def _own_upload(request: Request, upload_id: UUID) -> Attachment:
    caller = caller_of(request)
    authorize(caller, Action.UPLOAD)
    row = find_upload(upload_id, holder=holder_of_caller(caller))
    if row is None or not _is_within_company(caller, row.company_id, row.job_id):
        raise UploadNotFound
    return row


def _is_within_company(caller: Caller, company_id: UUID, job_id: UUID) -> bool:
    """Return whether a caller who acts for one company, or on its site, stays with what is theirs.

    That is the company, or the jobs that a key is limited to.
    """
    if isinstance(caller, PortalCaller):
        return caller.company_id == company_id
    if not isinstance(caller, CompanyCaller):
        return True
    return represents_company(caller, company_id) and caller.has_job(job_id)


class UploadContent(Endpoint):
    """`/uploads/{id}/content`"""

    parser_classes = (StreamParser,)
    most_bytes: ClassVar[int] = settings.ATTACHMENT_BYTES

    @describes(
        "put_upload_content",
        Tag.APPLICATIONS,
        Action.UPLOAD,
        FileOut,
        bodies={BYTES: {"type": "string", "format": "binary"}},
        refuses=(FILE_NOT_ACCEPTED, UPLOAD_EXPIRED),
        about="The type of the file is found in its content. Bytes that are there already stay, so"
        " this can be repeated.",
    )
    def put(self, request: Request, upload_id: UUID) -> Response:
        """Send the bytes of an announced upload."""
        row = _own_upload(request, upload_id)
        content: Any = request.data or ()
        return Response(
            file_out(uploads.receive(row.id, holder=bytes(row.holder), content=content))
        )


class ApplicationFiles(Endpoint):
    """`/applications/{id}/files`"""

    @describes("list_application_files", Tag.APPLICATIONS, Action.READ_APPLICATION, FilesOut)
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return the files of an application, to its applicant or to the company."""
        facts = visible_application(caller_of(request), application_id)
        return Response(_files_out(facts.id))

    @describes(
        "add_application_files",
        Tag.APPLICATIONS,
        Action.CHANGE_FILES,
        FilesOut,
        takes=(AddedFilesIn,),
        refuses=(UPLOAD_EXPIRED, FILE_NOT_ACCEPTED, INVALID_TRANSITION, LIMIT_REACHED),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Add uploads to an application that waits in line. Return all its files."""
        caller = caller_of(request)
        facts = visible_application(caller, application_id)
        authorize(on_job(caller, facts.job_id), Action.CHANGE_FILES)
        uploads.attach_later(
            read_body(request, AddedFilesIn)["upload_ids"],
            application_id=facts.id,
            question_id=None,
            holder=holder_of_caller(caller),
        )
        return Response(_files_out(facts.id))


class OneApplicationFile(Endpoint):
    """`/applications/{id}/files/{file_id}`"""

    content_negotiation_class = AnyFileKind
    answers_hold_secrets = True

    @describes(
        "get_application_file",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        File(tuple(kind.content_type for kind in kinds.ALL)),
        headers=("Content-Disposition",),
        about="404 until the malware scan has finished. The security log notes each look.",
    )
    def get(self, request: Request, application_id: UUID, file_id: UUID) -> HttpResponseBase:
        """Return the bytes of a file."""
        caller = caller_of(request)
        facts = visible_application(caller, application_id)
        row = find_attachment(file_id, application_id=facts.id)
        return file_response(row, by=caller.log_name)

    @describes(
        "delete_application_file",
        Tag.APPLICATIONS,
        Action.CHANGE_FILES,
        None,
        status=204,
        refuses=(INVALID_TRANSITION,),
        about="A company removes only files that it has added itself. A file that answers a"
        " question of the job's form stays.",
    )
    def delete(self, request: Request, application_id: UUID, file_id: UUID) -> Response:
        """Remove a file of an application that waits in line. Repeating it is harmless."""
        caller = caller_of(request)
        facts = visible_application(caller, application_id)
        authorize(on_job(caller, facts.job_id), Action.CHANGE_FILES)
        row = find_attachment(file_id, application_id=facts.id)
        is_company = isinstance(caller, CompanyCaller)
        if row and is_company and bytes(row.holder) != holder_of_caller(caller):
            raise PermissionDenied(_("Only the applicant can remove a file that they have sent."))
        uploads.remove(file_id, application_id=facts.id)
        return Response(status=204)
