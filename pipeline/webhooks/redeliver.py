"""Services that send deliveries again: one, or all that failed since a time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from pipeline.domain.errors import WebhookDeliveryNotFound, WebhookOff
from pipeline.models import WebhookDelivery
from pipeline.webhooks.endpoints import locked_webhook_endpoint
from pipeline.webhooks.queue import make_webhook_endpoint_due, wake_webhook_queue
from tasks.enqueue import Enqueued, enqueue

# The type of the task that sends all failed deliveries again.
REDELIVER = "webhooks.redeliver"
# The most deliveries that one task sends again, and that one transaction does.
MOST_REDELIVERED, AT_ONCE = 100_000, 1_000

State = WebhookDelivery.State


def redeliver_one_webhook(
    *, company_id: UUID, endpoint_id: UUID, delivery_id: UUID
) -> WebhookDelivery:
    """Send a delivery again at once, in a new round of attempts, under the same `webhook-id`.

    One that waits is tried now. Raises WebhookNotFound, WebhookDeliveryNotFound, WebhookOff. Must
    not be called inside a transaction.
    """
    with transaction.atomic():
        endpoint = locked_webhook_endpoint(company_id, endpoint_id)
        if not endpoint.is_active:
            raise WebhookOff
        theirs = WebhookDelivery.objects.filter(endpoint_id=endpoint.id, id=delivery_id)
        if not _begin_redelivery_round(theirs):
            raise WebhookDeliveryNotFound
        make_webhook_endpoint_due(endpoint.id)
    wake_webhook_queue()
    return theirs.get()


def start_redelivering_webhooks(
    *, company_id: UUID, endpoint_id: UUID, since: datetime, producer: str = ""
) -> Enqueued:
    """Start a task that sends all failed deliveries again that were created since a time.

    Raises WebhookNotFound, WebhookOff.
    """
    with transaction.atomic():
        if not locked_webhook_endpoint(company_id, endpoint_id).is_active:
            raise WebhookOff
        payload = {"endpoint_id": str(endpoint_id), "since": since.isoformat()}
        return enqueue(REDELIVER, payload, owner_id=company_id, producer=producer)


def redeliver_failed_webhooks(*, company_id: UUID, endpoint_id: UUID, since: datetime) -> int:
    """Send failed deliveries again, oldest first, at most MOST_REDELIVERED; return how many.

    Raises WebhookNotFound. An endpoint that is switched off in the meantime gets no more.
    """
    sent = 0
    while sent < MOST_REDELIVERED:
        with transaction.atomic():
            endpoint = locked_webhook_endpoint(company_id, endpoint_id)
            failed = WebhookDelivery.objects.filter(
                endpoint_id=endpoint.id, state=State.FAILED, created_at__gte=since
            )
            ids = list(failed.order_by("id").values_list("id", flat=True)[:AT_ONCE])
            if not ids or not endpoint.is_active:
                break
            _begin_redelivery_round(WebhookDelivery.objects.filter(id__in=ids, state=State.FAILED))
            make_webhook_endpoint_due(endpoint.id)
        wake_webhook_queue()
        sent += len(ids)
    return sent


def _begin_redelivery_round(deliveries: QuerySet[WebhookDelivery]) -> int:
    return deliveries.update(
        state=State.PENDING,
        earlier_attempts=F("attempts"),
        round_started_at=Now(),
        next_attempt_at=Now(),
        finished_at=None,
    )
