"""Endpoints with deliveries of every state, for the pages about webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models.functions import Now

from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import send_test

ANSWER = "upstream is not available right now; " * 20


@dataclass(frozen=True)
class Webhooks:
    """An endpoint that works and has a delivery with a failed attempt, and one that is off."""

    endpoint: UUID
    delivery: UUID
    off: UUID


def make_webhooks(company_id: UUID) -> Webhooks:
    """Make them."""
    url = "https://hooks.northwind-labs.example/services/hiring/next-in-line?team=payments"
    working, _ = endpoints.create(company_id=company_id, url=url, description="Chat channel")
    off, _ = endpoints.create(
        company_id=company_id, url="https://old.example/hook", types=["job.closed"]
    )
    WebhookEndpoint.objects.filter(id=off.id).update(
        is_active=False, off_reason="GONE", off_at=Now()
    )
    sent = [send_test(company_id=company_id, endpoint_id=working.id) for _ in range(3)]
    WebhookDelivery.objects.filter(id=sent[0].id).update(state="DELIVERED", attempts=1)
    WebhookDelivery.objects.filter(id=sent[1].id).update(
        state="FAILED", attempts=10, last_error="TIMEOUT"
    )
    for number, (error, status) in enumerate((("TIMEOUT", None), ("STATUS", 503)), 1):
        WebhookAttempt.objects.create(
            delivery_id=sent[2].id,
            number=number,
            at=datetime.now(UTC),
            duration_ms=15_000,
            error=error,
            status=status,
            request_headers={"webhook-id": sent[2].webhook_id, "webhook-timestamp": "1763810000"},
            response_headers={"content-type": "text/plain"} if status else None,
            response_body=ANSWER if status else "",
        )
    WebhookDelivery.objects.filter(id=sent[2].id).update(
        attempts=2, last_error="STATUS", last_status=503
    )
    return Webhooks(working.id, sent[2].id, off.id)
