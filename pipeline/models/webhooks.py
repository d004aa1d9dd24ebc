"""Rows of webhooks: a company's endpoints, deliveries to them, and every attempt.

Deliveries and attempts hold ids and codes only, and what the receiver answered; they are kept for
30 days. They have no foreign key: an endpoint is deleted at once, and its deliveries by age.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company

LONGEST_URL = 1_000
LONGEST_DESCRIPTION = 200
LONGEST_TYPE = 60
LONGEST_DETAIL = 200


class WebhookEndpoint(models.Model):
    """A company's address that receives events; its secrets are encrypted.

    `types` is empty for all. `failures` counts the failed attempts since the last success. From
    `next_due_at` on, or `leased_until` if that is later, a run may take the endpoint's deliveries;
    it writes its id into `lease`.
    """

    class OffReason(models.TextChoices):
        BY_HAND = "BY_HAND"  # a member or a key switched it off
        GONE = "GONE"  # it answered 410
        FAILING = "FAILING"  # a last attempt failed, and nothing arrived meanwhile

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company, models.CASCADE, related_name="webhook_endpoints", db_index=False
    )
    url = models.CharField(max_length=LONGEST_URL)
    description = models.CharField(max_length=LONGEST_DESCRIPTION, default="", blank=True)
    types = ArrayField(models.CharField(max_length=LONGEST_TYPE), default=list)
    secret = models.BinaryField()
    # The secret before the last rotation; signs too, until then.
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    # The last rotations, the newest last, so that a repetition of a request does not rotate again.
    rotation_ids = ArrayField(models.UUIDField(), default=list, db_default=[])
    rotated_at = models.DateTimeField(null=True)
    is_active = models.BooleanField(default=True)
    off_reason = models.CharField(max_length=7, choices=OffReason, default="", blank=True)
    off_at = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    last_success_at = models.DateTimeField(null=True)
    rests_until = models.DateTimeField(null=True)
    next_due_at = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index("company", "id", name="webhook_of_company"),
            models.Index("next_due_at", name="webhook_due", condition=Q(next_due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def log_ids(self) -> dict[str, str]:
        """Return the security log's fields: not the URL, which may hold a token."""
        return {"company": str(self.company_id), "endpoint": str(self.id)}


class WebhookDelivery(models.Model):
    """Event on its way to one endpoint. `source` names the event, so that it is queued once.

    `id` is its `webhook-id`, the same in every attempt. Sending it again begins another round of
    attempts; the attempts before are `earlier_attempts`.
    """

    class State(models.TextChoices):
        PENDING = "PENDING"  # moved on by a run, at `next_attempt_at`
        DELIVERED = "DELIVERED"  # terminal, unless it is sent again
        FAILED = "FAILED"  # by a person or a program that sends it again

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    endpoint_id = models.UUIDField()
    source = models.CharField(max_length=100)
    type = models.CharField(max_length=LONGEST_TYPE)
    body = models.TextField()
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    attempts = models.IntegerField(default=0)
    earlier_attempts = models.IntegerField(default=0)
    round_started_at = models.DateTimeField(db_default=Now())
    next_attempt_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    last_status = models.IntegerField(null=True)
    last_error = models.CharField(max_length=20, default="", blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("endpoint_id", "source", name="webhook_delivered_once")
        ]
        indexes = [
            models.Index("endpoint_id", "id", name="webhook_deliveries"),
            models.Index("endpoint_id", "type", "id", name="webhook_deliveries_of_type"),
            models.Index(
                "endpoint_id",
                "next_attempt_at",
                name="webhook_pending",
                condition=Q(state="PENDING"),
            ),
            models.Index("endpoint_id", "id", name="webhook_failed", condition=Q(state="FAILED")),
            models.Index("created_at", name="webhook_delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    @property
    def webhook_id(self) -> str:
        """Return the value of the header by which receivers recognise it."""
        return build_message_id(self.id)


def build_message_id(delivery_id: UUID) -> str:
    """Return the `webhook-id` of a delivery."""
    return f"msg_{delivery_id.hex}"


class WebhookAttempt(models.Model):
    """One request of a delivery, and its answer: shortened, without signatures and cookies."""

    delivery_id = models.UUIDField()
    number = models.IntegerField()
    at = models.DateTimeField()
    duration_ms = models.IntegerField()
    request_headers = models.JSONField()
    error = models.CharField(max_length=20, default="", blank=True)
    detail = models.CharField(max_length=LONGEST_DETAIL, default="", blank=True)
    status = models.IntegerField(null=True)
    response_headers = models.JSONField(null=True)
    response_body = models.TextField(default="", blank=True)

    class Meta:
        indexes = [
            models.Index("delivery_id", "number", name="webhook_attempts"),
            models.Index("at", name="webhook_attempt_age"),
        ]

    def __str__(self) -> str:
        return f"{self.delivery_id} {self.number}"


class WebhookTaskPlace(models.Model):
    """Place up to which the events of background work have been read for webhooks; one row."""

    after = models.BigIntegerField()
    settled = models.BigIntegerField()
    settles_at = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.after)
