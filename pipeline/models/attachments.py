"""Models of attachments: files of applicants. Their bytes are in the attachment storage."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Job
from pipeline.models.line import Application

FILE_NAME_LENGTH = 150


class Attachment(models.Model):
    """File of an application, or an upload that still waits for its application.

    The row is written before the bytes and says where the latest attempt writes them
    (`storage_key`), so a crash leaves no bytes without a row. `received_at` is empty until all of
    them are there. `holder` is a digest of the browser, person or company that uploaded it, which
    alone may attach it; an upload that is not attached by `expires_at` is removed. A trigger writes
    a deleted row's `storage_key` to `RemovedObject`, so that the bytes go too, however the row was
    deleted.
    """

    class State(models.TextChoices):
        WAITING = "WAITING"  # for its bytes or for the malware scan: nobody can open it
        CLEAN = "CLEAN"
        REFUSED = "REFUSED"  # by the malware scan; its bytes are removed
        UNSCANNED = "UNSCANNED"  # the site has no malware scanner

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company_id = models.UUIDField()
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    application = models.ForeignKey(
        Application, models.CASCADE, null=True, related_name="attachments", db_index=False
    )
    question_id = models.UUIDField(null=True)
    message_id = models.UUIDField(null=True)  # of the message that it came with
    holder = models.BinaryField(max_length=32)
    name = models.CharField(max_length=FILE_NAME_LENGTH)
    content_type = models.CharField(max_length=80, default="")
    # Of an upload whose bytes are not there yet: what is reserved for it.
    size_bytes = models.BigIntegerField()
    sha256 = models.BinaryField(max_length=32, null=True)
    storage_key = models.CharField(max_length=80, null=True, unique=True)  # noqa: DJ001 -- unique
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(db_default=Now())
    received_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index("application", "id", name="attachment_of_application"),
            models.Index("company_id", name="attachment_of_company", include=["size_bytes"]),
            models.Index("holder", name="attachment_of_holder", condition=Q(application=None)),
            models.Index("expires_at", name="attachment_expiry", condition=Q(application=None)),
            models.Index("received_at", name="attachment_unseen", condition=Q(state="WAITING")),
        ]
        constraints = [
            models.CheckConstraint(
                name="attached_or_expires",
                condition=Q(application=None, expires_at__isnull=False)
                | Q(application__isnull=False, expires_at=None, received_at__isnull=False),
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="removes_bytes",
                when=pgtrigger.After,
                operation=pgtrigger.Delete,
                # A running upload may still write its object: remove that later, too.
                func="""
                INSERT INTO pipeline_removedobject (storage_key, attachment_id, due_at)
                SELECT OLD.storage_key, OLD.id, statement_timestamp() + delay
                FROM (VALUES (interval '0'), (interval '15 minutes')) AS runs (delay)
                WHERE OLD.storage_key IS NOT NULL
                  AND (delay = interval '0' OR OLD.received_at IS NULL);
                RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_visible(self) -> bool:
        """Return whether the bytes may be shown."""
        return self.state in (self.State.CLEAN, self.State.UNSCANNED)


class RemovedObject(models.Model):
    """Object in the attachment storage that no row refers to any more, to be removed at `due_at`.

    A task removes it, notes that in ATTACHMENT_REMOVALS_FILE, and deletes this row.
    """

    storage_key = models.CharField(max_length=80)
    attachment_id = models.UUIDField()
    due_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index("due_at", name="object_to_remove"),
            models.Index("storage_key", name="object_without_row"),
        ]

    def __str__(self) -> str:
        return self.storage_key
