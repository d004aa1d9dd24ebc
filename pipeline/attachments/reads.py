"""Reads of an application's files, in one query each."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from pipeline.attachments.uploads import holder_of
from pipeline.models import Attachment


def read_attachments(application_id: UUID) -> list[Attachment]:
    """Return an application's files without those of its messages, oldest first."""
    rows = Attachment.objects.filter(application_id=application_id, message_id=None)
    return list(rows.order_by("id"))


def read_files_of_person(
    applicant_id: UUID, application_ids: Collection[UUID]
) -> dict[UUID | None, list[Attachment]]:
    """Return a person's files by application, oldest first; under None, loose uploads."""
    found: dict[UUID | None, list[Attachment]] = {}
    loose = Q(holder=holder_of("person", applicant_id), application=None)
    rows = Attachment.objects.filter(loose | Q(application_id__in=application_ids))
    for row in rows.order_by("id"):
        found.setdefault(row.application_id, []).append(row)
    return found


def read_all_files_of_person(applicant_id: UUID) -> list[Attachment]:
    """Return all files of a person, also uploads that no application has, oldest first."""
    loose = Q(holder=holder_of("person", applicant_id), application=None)
    rows = Attachment.objects.filter(loose | Q(application__applicant_id=applicant_id))
    return list(rows.order_by("id"))


def attachments_cache_tag(rows: Collection[Attachment]) -> str:
    """Return a cache tag of what pages show of files."""
    return ",".join(f"{row.id.hex[-12:]}{row.state[0]}" for row in rows)


def find_upload(upload_id: UUID, *, holder: bytes) -> Attachment | None:
    """Return an upload of its holder."""
    return Attachment.objects.filter(id=upload_id, holder=holder).first()


def find_attachment(attachment_id: UUID, *, application_id: UUID) -> Attachment | None:
    """Return a file of an application."""
    return Attachment.objects.filter(id=attachment_id, application_id=application_id).first()


def decode_text(beginning: bytes) -> str:
    """Return the text of the beginning of a text file."""
    utf16 = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    decoder = codecs.getincrementaldecoder("utf-16" if utf16 else "utf-8-sig")(errors="replace")
    return decoder.decode(beginning)
