"""Model of changes that are no events of a log, but concern a copy in another system."""

from __future__ import annotations

from django.db import models
from django.db.models import Func
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class ChangeKind(models.TextChoices):
    """Kind of a change that is no event."""

    JOB_CHANGED = "JOB_CHANGED"  # its texts, or what the company attached to it
    JOB_DELETED = "JOB_DELETED"  # a draft
    PLANNED_SEATS_CHANGED = "PLANNED_SEATS_CHANGED"  # planned or cancelled
    APPLICATION_CHANGED = "APPLICATION_CHANGED"  # its name, or what the company attached to it
    APPLICATION_ERASED = "APPLICATION_ERASED"  # everything about the person
    WEBHOOK_SWITCHED_OFF = "WEBHOOK_SWITCHED_OFF"  # by its answers, or by hand


class Change(models.Model):
    """Change of something that no log records: ids only, so that an erasure can be told too.

    Never changed or removed, like an event. Its place in the feed is that of events (`Event.txid`).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company_id = models.UUIDField()
    kind = models.CharField(max_length=21, choices=ChangeKind)
    job_id = models.UUIDField(null=True)
    application_id = models.UUIDField(null=True)
    webhook_id = models.UUIDField(null=True)
    at = models.DateTimeField(db_default=Now())
    txid = models.BigIntegerField(db_default=Func(function="pipeline_feed_place"))

    class Meta:
        indexes = [models.Index("company_id", "txid", "id", name="change_feed")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
