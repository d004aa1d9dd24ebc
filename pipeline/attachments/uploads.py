"""Uploads of files and their life as attachments of an application.

The order of writes is: the row (WAITING, with an end), the bytes, then the row's facts. So a crash
at any point leaves a row that expires and takes its bytes with it, or an attachment that is whole.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from hashlib import sha256
from secrets import token_hex
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from uuid_utils.compat import uuid7

from applicants.models import ERASED_NAME
from applicants.texts import cleaned_name
from pipeline.attachments import kinds, pictures, scan, storage
from pipeline.domain.errors import (
    ApplicationNotFound,
    AttachmentAnswers,
    AttachmentsAway,
    AttachmentsFixed,
    AttachmentsFull,
    AttachmentTooLarge,
    FileKindRefused,
    TooManyAttachments,
    TooManyUploads,
    UploadExpired,
    UploadNotFound,
    UploadNotReady,
    UploadRefused,
)
from pipeline.domain.states import Status
from pipeline.models import FILE_NAME_LENGTH, Application, Attachment, RemovedObject

logger = logging.getLogger(__name__)
security = logging.getLogger("security")

# Time that an upload has until it is attached to an application.
KEPT = timedelta(hours=1)
# How many uploads of one person can wait for that.
MOST_LOOSE = 20
# Longer than any attempt to write an upload's bytes may take.
ATTEMPT = timedelta(minutes=15)
UNNAMED = "file"
_MEMORY_BYTES = 2**18

State = Attachment.State


# Who may attach an upload: the browser, person or company that sent it.


def holder_of(kind: str, name: str | UUID) -> bytes:
    """Return the digest that binds an upload to a `browser`, a `person` or a `company`."""
    text = f"{kind}:{name}"
    return salted_hmac("pipeline.attachments.holder", text, algorithm="sha256").digest()


# Uploads before the application exists.


def create(
    *,
    company_id: UUID,
    job_id: UUID,
    holder: bytes,
    name: str,
    size_bytes: int,
    question_id: UUID | None = None,
    upload_id: UUID | None = None,
    most_loose: int | None = None,
) -> Attachment:
    """Create an upload, whose bytes `receive` takes within an hour, and reserve room for it.

    `upload_id`: the id of the new upload, derived from an Idempotency-Key. If the holder has an
    upload with that id, it is returned. `most_loose`: how many uploads of the holder can wait for
    an application, because each takes room. Raises AttachmentTooLarge, AttachmentsFull,
    TooManyUploads.
    """
    if upload_id and (made := Attachment.objects.filter(id=upload_id, holder=holder).first()):
        return made
    refuse_size(size_bytes)
    loose = Attachment.objects.filter(holder=holder, application=None)
    if most_loose is not None and loose.count() >= most_loose:
        raise TooManyUploads(limit=most_loose)
    refuse_beyond_quota(company_id, more_bytes=size_bytes)
    row = Attachment(
        id=upload_id or uuid7(),
        company_id=company_id,
        job_id=job_id,
        question_id=question_id,
        holder=holder,
        name=clean_file_name(name),
        size_bytes=size_bytes,
        expires_at=Now() + KEPT,
    )
    row.save(force_insert=True)
    row.refresh_from_db()
    return row


def clean_file_name(name: str) -> str:
    """Return a file's name as it is shown: its last part, without invisible characters.

    A long name keeps its ending.
    """
    last = name.replace("\0", "").replace("\\", "/").rpartition("/")[2]
    plain = cleaned_name(last).replace('"', "'").strip(". ")
    if len(plain) > FILE_NAME_LENGTH:
        stem, dot, ending = plain.rpartition(".")
        plain = f"{stem[: FILE_NAME_LENGTH - 11]}{dot}{ending[:10]}" if dot else plain
    return plain[:FILE_NAME_LENGTH] or UNNAMED


def refuse_size(size_bytes: int) -> None:
    """Refuse a file that is too large. Raises AttachmentTooLarge."""
    limit: int = settings.ATTACHMENT_BYTES
    if size_bytes > limit:
        raise AttachmentTooLarge(megabytes=f"{limit / 2**20:.3g}")


def refuse_beyond_quota(company_id: UUID, *, more_bytes: int) -> None:
    """Refuse a file that the company has no room for. Raises AttachmentsFull.

    Uploads at the same time do not see each other, so together they may exceed the limit once.
    """
    used, limit = used_bytes(company_id), settings.ATTACHMENT_BYTES_PER_COMPANY
    if used + more_bytes > limit:
        raise AttachmentsFull(used=used, limit=limit)


def used_bytes(company_id: UUID) -> int:
    """Return the bytes that attachments of a company's applications use, with running uploads."""
    theirs = Attachment.objects.filter(company_id=company_id)
    return theirs.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0


def receive(upload_id: UUID, *, holder: bytes, content: Iterable[bytes]) -> Attachment:
    """Store an upload's bytes, piece by piece, and return it whole.

    Repeating it with bytes that are there already changes nothing; of attempts at the same time,
    the first that ends counts, for all of them. A picture is stored without its metadata. Raises
    UploadNotFound, also if the upload is removed meanwhile; UploadExpired, AttachmentTooLarge,
    AttachmentsFull, FileKindRefused; AttachmentsAway if it can be repeated later.
    """
    row = _found(upload_id, holder)
    if row.received_at:
        return row
    with ExitStack() as files:
        spooled = files.enter_context(_spooled_file())
        _spool(content, spooled)
        kind = kinds.detect(spooled)
        if kind.shown_as == "picture":
            original, spooled = spooled, files.enter_context(_spooled_file())
            pictures.copy_without_metadata(original, spooled, kind)
        size, digest = _measure(spooled)
        if size > row.size_bytes:  # it had reserved less
            refuse_beyond_quota(row.company_id, more_bytes=size - row.size_bytes)
        if key := _begin_attempt(row):
            try:
                storage.write(key, spooled)
            except Exception as error:  # each storage has errors of its own
                logger.exception("An upload could not be stored")
                raise AttachmentsAway from error
    facts = {"content_type": kind.content_type, "size_bytes": size, "sha256": digest}
    if key and not _complete(row, key, facts):
        storage.remove(key)
    row = _found(upload_id, holder)
    if not row.received_at:  # what this attempt wrote is gone: it took too long
        raise AttachmentsAway
    return row


def find_unattached(upload_ids: Collection[UUID], *, holder: bytes) -> list[Attachment]:
    """Return the holder's whole uploads among these that no application has taken yet."""
    theirs = Attachment.objects.filter(id__in=upload_ids, holder=holder, application=None)
    return list(theirs.filter(received_at__isnull=False).order_by("id"))


def _found(upload_id: UUID, holder: bytes) -> Attachment:
    row = Attachment.objects.filter(id=upload_id, holder=holder).first()
    if row is None:
        raise UploadNotFound
    if row.application_id is None and _expired().filter(id=row.id).exists():
        raise UploadExpired
    return row


def _expired() -> QuerySet[Attachment]:
    return Attachment.objects.filter(application=None, expires_at__lte=Now())


def _spooled_file() -> IO[bytes]:
    return SpooledTemporaryFile(max_size=_MEMORY_BYTES)


def _spool(content: Iterable[bytes], spooled: IO[bytes]) -> None:
    size = 0
    for piece in content:
        size += len(piece)
        refuse_size(size)
        spooled.write(piece)


def _measure(spooled: IO[bytes]) -> tuple[int, bytes]:
    """Return a file's size and digest, and go back to its beginning."""
    size, digest = 0, sha256()
    spooled.seek(0)
    while piece := spooled.read(storage.PIECE_BYTES):
        size += len(piece)
        digest.update(piece)
    spooled.seek(0)
    return size, digest.digest()


@transaction.atomic
def _begin_attempt(row: Attachment) -> str:
    """Note where this attempt writes, and have what an earlier one may write removed.

    Return "" if another attempt has stored all bytes meanwhile. Raises UploadNotFound.
    """
    rows = Attachment.objects.filter(id=row.id)
    found = rows.select_for_update(of=("self",)).first()
    if found is None:
        raise UploadNotFound
    if found.received_at:
        return ""
    if found.storage_key:
        storage.note_removal(found.storage_key, found.id, after=ATTEMPT)
    random = token_hex(16)
    key = f"{random[:2]}/{random}"
    rows.update(storage_key=key)
    return key


@transaction.atomic
def _complete(row: Attachment, key: str, facts: dict[str, object]) -> bool:
    """Note that all bytes are there, and have them scanned. Return whether these bytes are kept.

    They are not if the row was removed, or another attempt was faster. If a later attempt has
    begun, its bytes are removed in place of these.
    """
    rows = Attachment.objects.filter(id=row.id, received_at=None)
    found = rows.select_for_update(of=("self",)).first()
    if found is None:
        return False
    if found.storage_key and found.storage_key != key:
        if not RemovedObject.objects.filter(storage_key=key).delete()[0]:
            return False
        storage.note_removal(found.storage_key, found.id, after=ATTEMPT)
    state = State.WAITING if scan.is_on() else State.UNSCANNED
    rows.update(storage_key=key, received_at=Now(), state=state, **facts)
    if state == State.WAITING:
        scan.request(row.id)
    return True


def add(
    *,
    company_id: UUID,
    job_id: UUID,
    holder: bytes,
    name: str,
    size_bytes: int,
    content: Iterable[bytes],
    question_id: UUID | None = None,
    upload_id: UUID | None = None,
    most_loose: int | None = None,
) -> Attachment:
    """Create an upload and store its bytes. Raises the errors of `create` and `receive`.

    Nothing is left of one that is refused.
    """
    row = create(
        company_id=company_id,
        job_id=job_id,
        holder=holder,
        name=name,
        size_bytes=size_bytes,
        question_id=question_id,
        upload_id=upload_id,
        most_loose=most_loose,
    )
    try:
        return receive(row.id, holder=holder, content=content)
    except (AttachmentTooLarge, AttachmentsFull, FileKindRefused):
        discard(row.id, holder=holder)
        raise


def discard(upload_id: UUID, *, holder: bytes) -> None:
    """Remove an upload that is not attached to an application, if it is there."""
    removed, _ = Attachment.objects.filter(id=upload_id, holder=holder, application=None).delete()
    if removed:
        storage.request_removal()


# Attaching uploads to an application.


def attach(
    upload_ids: Sequence[UUID],
    *,
    job_id: UUID,
    application_id: UUID,
    question_id: UUID | None,
    holder: bytes,
    message_id: UUID | None = None,
) -> list[Attachment]:
    """Attach whole uploads to an application, or to a message on it, in the caller's transaction.

    Uploads that are attached to it for this question already stay so, whoever sent them. The files
    of each message are counted by themselves. Raises
    UploadNotFound for one that is unknown, another holder's, for another job, or attached
    elsewhere; UploadExpired; UploadNotReady if its bytes are not there; UploadRefused by the
    malware scan; and TooManyAttachments. The caller undoes its transaction, or a savepoint, after a
    refusal.
    """
    ids = list(dict.fromkeys(upload_ids))
    if not ids:
        return []
    here = Q(application_id=application_id, message_id=message_id)
    attached = here & Q(question_id=question_id)
    locked = Attachment.objects.filter(attached | Q(holder=holder), id__in=ids, job_id=job_id)
    rows = {row.id: row for row in locked.select_for_update(of=("self",)).order_by("id")}
    expired = set(_expired().filter(id__in=ids).values_list("id", flat=True))
    for each in ids:
        row = rows.get(each)
        if row and row.application_id and row.message_id != message_id:
            raise UploadNotFound  # it is a file of a message, or one of the application itself
        _refuse_attaching(row, application_id, is_expired=each in expired)
    have = Attachment.objects.filter(here).exclude(id__in=ids).count()
    if have + len(ids) > settings.ATTACHMENTS_PER_APPLICATION:
        raise TooManyAttachments(limit=settings.ATTACHMENTS_PER_APPLICATION)
    locked.update(
        application_id=application_id,
        question_id=question_id,
        message_id=message_id,
        expires_at=None,
    )
    return [rows[each] for each in ids]


def _refuse_attaching(row: Attachment | None, application_id: UUID, *, is_expired: bool) -> None:
    if row is None or row.application_id not in (None, application_id):
        raise UploadNotFound
    if row.application_id:
        return
    if is_expired:
        raise UploadExpired
    if row.received_at is None:
        raise UploadNotReady(name=row.name)
    if row.state == State.REFUSED:
        raise UploadRefused(name=row.name)


@transaction.atomic
def attach_later(
    upload_ids: Sequence[UUID],
    *,
    application_id: UUID,
    question_id: UUID | None,
    holder: bytes,
) -> list[Attachment]:
    """Attach uploads to an application that waits in line.

    Raises ApplicationNotFound, also if its person is erased meanwhile; AttachmentsFixed; and the
    errors of `attach`.
    """
    application = _locked_application(application_id)
    return attach(
        upload_ids,
        job_id=application.job_id,
        application_id=application_id,
        question_id=question_id,
        holder=holder,
    )


@transaction.atomic
def remove(attachment_id: UUID, *, application_id: UUID) -> None:
    """Remove an attachment of an application that waits in line, if it is there.

    One that answers a question of the job's form stays, and so does one that came with a message.
    Raises ApplicationNotFound, AttachmentsFixed, AttachmentAnswers.
    """
    _locked_application(application_id)
    found = Attachment.objects.filter(
        id=attachment_id, application_id=application_id, message_id=None
    )
    if found.exclude(question_id=None).exists():
        raise AttachmentAnswers
    forget(found)


def _locked_application(application_id: UUID) -> Application:
    """Lock an application's row, which an erasure changes first. Raises ApplicationNotFound."""
    found = Application.objects.select_for_update(of=("self",), no_key=True)
    application = found.exclude(name=ERASED_NAME).filter(id=application_id).first()
    if application is None:
        raise ApplicationNotFound
    if application.status != Status.WAITLIST:
        raise AttachmentsFixed
    return application


# Erasure.


def forget_of_applications(application_ids: Collection[UUID]) -> None:
    """Remove all attachments of applications, inside the caller's transaction.

    Also what the same browsers uploaded and no application took: a form that was begun and left.
    """
    attached = Attachment.objects.filter(application_id__in=application_ids)
    # Files of messages may be those of a member, who is writing to others as well.
    uploaded = attached.filter(message_id=None).values_list("holder", "company_id")
    browsers = {bytes(holder) for holder, by in uploaded if holder != holder_of("company", by)}
    forget(attached | Attachment.objects.filter(holder__in=browsers, application=None))


def forget_of_person(applicant_id: UUID) -> None:
    """Remove a person's uploads that are attached to no application."""
    forget(Attachment.objects.filter(holder=holder_of("person", applicant_id), application=None))


def forget(rows: QuerySet[Attachment]) -> None:
    """Delete rows; the database notes their bytes, which a task then removes."""
    removed, _ = rows.delete()
    if removed:
        storage.request_removal()
