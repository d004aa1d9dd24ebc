"""Answers about webhooks. Only two of them contain a secret: those that create it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from pipeline.api.v1.outputs import Count
from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.webhooks.types import TEST, TYPES

WebhookType = Annotated[str, ("codes", tuple(TYPES))]
DeliveredType = Annotated[str, ("codes", (*TYPES, TEST))]
DeliveryState = Annotated[str, ("codes", tuple(WebhookDelivery.State.values))]
OffReason = Annotated[str, ("codes", tuple(WebhookEndpoint.OffReason.values))]


class WebhookOut(TypedDict):
    """An endpoint. Without types, it gets every event."""

    id: UUID
    url: str
    description: str
    types: list[WebhookType]
    is_active: bool
    off_reason: OffReason | None
    off_at: datetime | None
    failures: Count
    last_success_at: datetime | None
    old_secret_until: datetime | None
    created_at: datetime


class NewWebhookOut(WebhookOut):
    """An endpoint with its secret, which no other operation shows."""

    secret: str


class WebhookDeliveryOut(TypedDict):
    """An event on its way to an endpoint."""

    id: UUID
    webhook_id: str
    type: DeliveredType
    state: DeliveryState
    attempts: Count
    next_attempt_at: datetime | None
    finished_at: datetime | None
    last_status: int | None
    last_error: str | None
    created_at: datetime


class WebhookAttemptOut(TypedDict):
    """A request of a delivery and its answer, shortened, without signatures and cookies."""

    number: Count
    at: datetime
    duration_ms: Count
    request_headers: dict[str, str]
    error: str | None
    detail: str | None
    status: int | None
    response_headers: dict[str, str] | None
    response_body: str | None


class FullWebhookDeliveryOut(WebhookDeliveryOut):
    """A delivery with its body and its attempts, the newest first."""

    body: Any
    log: list[WebhookAttemptOut]


def webhook_out(endpoint: WebhookEndpoint) -> WebhookOut:
    """Return an endpoint, without its secrets."""
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "description": endpoint.description,
        "types": list(endpoint.types),
        "is_active": endpoint.is_active,
        "off_reason": endpoint.off_reason or None,
        "off_at": endpoint.off_at,
        "failures": endpoint.failures,
        "last_success_at": endpoint.last_success_at,
        "old_secret_until": endpoint.old_secret_until,
        "created_at": endpoint.created_at,
    }


def delivery_out(delivery: WebhookDelivery) -> WebhookDeliveryOut:
    """Return a delivery as lists show it."""
    return {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "type": delivery.type,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next_attempt_at": delivery.next_attempt_at,
        "finished_at": delivery.finished_at,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error or None,
        "created_at": delivery.created_at,
    }


def full_delivery_out(
    delivery: WebhookDelivery, attempts: list[WebhookAttempt]
) -> FullWebhookDeliveryOut:
    """Return a delivery with its body and its attempts."""
    log: list[WebhookAttemptOut] = [
        {
            "number": each.number,
            "at": each.at,
            "duration_ms": each.duration_ms,
            "request_headers": each.request_headers,
            "error": each.error or None,
            "detail": each.detail or None,
            "status": each.status,
            "response_headers": each.response_headers,
            "response_body": each.response_body if each.status else None,
        }
        for each in attempts
    ]
    return {**delivery_out(delivery), "body": json.loads(delivery.body), "log": log}
