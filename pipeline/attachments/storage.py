"""Objects in the attachment storage, `STORAGES["attachments"]`: a folder, or S3.

No object is ever overwritten: each attempt to write has a key of its own.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import IO
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from pipeline.domain.errors import AttachmentNotFound, AttachmentsUnreadable
from pipeline.models import Attachment, RemovedObject
from tasks.enqueue import enqueue

logger = logging.getLogger(__name__)

PIECE_BYTES = 2**16
BATCH = 100
# An object without a row is an orphan only if no attempt can still be about to note it.
ORPHAN_AGE = timedelta(hours=2)
TIDY = "attachments.tidy"  # the type of the task


def attachment_storage() -> Storage:
    """Return the storage."""
    return storages["attachments"]


def write(key: str, file: IO[bytes]) -> None:
    """Store a file's bytes, and in a folder wait until the disk has them."""
    storage = attachment_storage()
    storage.save(key, File(file, name=key))
    try:
        path = storage.path(key)
    except NotImplementedError:  # not a folder
        return
    for each, flags in ((path, 0), (os.path.dirname(path), os.O_DIRECTORY)):
        opened = os.open(each, os.O_RDONLY | os.O_CLOEXEC | flags)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def read(key: str) -> Iterator[bytes]:
    """Yield an object piece by piece.

    Raises AttachmentNotFound before the first one; AttachmentsUnreadable if the storage is away.
    """
    try:
        file = attachment_storage().open(key, "rb")
        piece = file.read(PIECE_BYTES)
    except FileNotFoundError:
        raise AttachmentNotFound from None
    except Exception as error:  # each storage has errors of its own
        logger.exception("A file could not be read")
        raise AttachmentsUnreadable from error
    with file:
        while piece:
            yield piece
            piece = file.read(PIECE_BYTES)


def remove(key: str) -> None:
    """Remove an object, if it is there."""
    attachment_storage().delete(key)


# Removal of objects that no row refers to.


def note_removal(key: str, attachment_id: UUID, *, after: timedelta = timedelta(0)) -> None:
    """Note in the caller's transaction that an object is to be removed."""
    RemovedObject.objects.create(storage_key=key, attachment_id=attachment_id, due_at=Now() + after)


def request_removal() -> None:
    """Have a task remove what is due, once the caller's transaction commits."""
    enqueue(TIDY)


def remove_due() -> int:
    """Remove a batch of objects that are due, and return its size.

    Each is noted in ATTACHMENT_REMOVALS_FILE, for whoever restores a backup. An object that cannot
    be removed stays due, behind the others so that it does not hold them up. Raises what the
    storage raises for it.
    """
    due = RemovedObject.objects.filter(due_at__lte=Now()).order_by("due_at")[:BATCH]
    done: list[RemovedObject] = []
    try:
        for row in due:
            try:
                remove(row.storage_key)
            except Exception:
                RemovedObject.objects.filter(id=row.id).update(due_at=Now())
                raise
            done.append(row)
    finally:
        if done:
            _note_in_file(done)
            RemovedObject.objects.filter(id__in=[row.id for row in done]).delete()
    return len(done)


def _note_in_file(rows: list[RemovedObject]) -> None:
    path = settings.ATTACHMENT_REMOVALS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    now = timezone.now().isoformat(timespec="seconds")
    lines = [
        json.dumps({"id": str(row.attachment_id), "key": row.storage_key, "removed_at": now})
        for row in rows
    ]
    with path.open("a", encoding="ascii") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())


@transaction.atomic
def remove_expired_uploads() -> int:
    """Remove a batch of uploads that no application took in time, and return its size."""
    expired = Attachment.objects.filter(application=None, expires_at__lte=Now())
    locked = expired.select_for_update(skip_locked=True).order_by("expires_at")
    ids = list(locked.values_list("id", flat=True)[:BATCH])
    if ids:
        Attachment.objects.filter(id__in=ids).delete()
    return len(ids)


def remove_orphans() -> int:
    """Remove all old objects without a row, and return their number.

    There are none unless a backup of the storage or of the database was restored alone.
    """
    storage, removed = attachment_storage(), 0
    folders, _ = _list_folder(storage, "")
    for folder in folders:
        _, names = _list_folder(storage, folder)
        keys = [f"{folder}/{name}" for name in names]
        for start in range(0, len(keys), BATCH):
            for key in _without_row(keys[start : start + BATCH]):
                if timezone.now() - storage.get_modified_time(key) > ORPHAN_AGE:
                    remove(key)
                    removed += 1
    return removed


def _list_folder(storage: Storage, folder: str) -> tuple[list[str], list[str]]:
    try:
        return storage.listdir(folder)
    except FileNotFoundError:  # nothing was ever stored
        return [], []


def _without_row(keys: list[str]) -> list[str]:
    known = set(
        Attachment.objects.filter(storage_key__in=keys).values_list("storage_key", flat=True)
    )
    removed = RemovedObject.objects.filter(storage_key__in=keys)
    known |= set(removed.values_list("storage_key", flat=True))
    return [key for key in keys if key not in known]
