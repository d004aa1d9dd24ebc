"""Rows for companies' own programs: tokens, requests, clock moves, and changes to copies."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from applicants.models import Applicant
from jobs.models import ApiKey, Company


class PortalToken(models.Model):
    """Short-lived token with which a company's own site acts for one of its applicants.

    Only its hash is stored. It ends with the key that made it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    key = models.ForeignKey(ApiKey, models.CASCADE, related_name="portal_tokens", db_index=False)
    applicant = models.ForeignKey(Applicant, models.CASCADE, related_name="portal_tokens")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index("key", "applicant", "id", name="portal_token_of_key"),
            models.Index("expires_at", name="portal_token_expiry"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class RequestRecord(models.Model):
    """One request of an API key, or of a portal token that the key made. Kept for seven days.

    Holds neither body nor query nor address. There is no foreign key: each would cost every row.
    """

    LONGEST_METHOD, LONGEST_PATH, LONGEST_REQUEST_ID = 10, 200, 128

    id = models.BigAutoField(primary_key=True)
    key_id = models.UUIDField()
    is_portal = models.BooleanField()
    at = models.DateTimeField()
    method = models.CharField(max_length=LONGEST_METHOD)
    path = models.CharField(max_length=LONGEST_PATH)
    status = models.SmallIntegerField()
    status_class = models.SmallIntegerField()  # its first digit
    request_id = models.CharField(max_length=LONGEST_REQUEST_ID)
    duration_ms = models.IntegerField()

    class Meta:
        indexes = [
            models.Index("key_id", "id", name="request_of_key"),
            # Refusals are few among many, so they are found by an index of their own.
            models.Index(
                "key_id",
                "status_class",
                "id",
                name="refused_request_of_key",
                condition=Q(status_class__gte=4),
            ),
            BrinIndex("at", name="request_at"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.status}"


class ClockAdvance(models.Model):
    """One advance of a sandbox's clock. Its id is the request's, so a repeated one moves nothing.

    `began_at` is the sandbox's time before it, `clock_offset_seconds` the offset after it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="clock_advances")
    seconds = models.BigIntegerField()
    clock_offset_seconds = models.BigIntegerField()
    began_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.company_id} {self.seconds} s"


# Model of changes that are no events of a log, but concern a copy in another system.


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
