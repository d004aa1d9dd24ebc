"""Reads of a company's webhook endpoints and deliveries."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from pipeline.domain.errors import WebhookDeliveryNotFound, WebhookNotFound
from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.selectors.page import Page

# Attempts of one delivery that are shown, the newest.
MOST_ATTEMPTS_SHOWN = 100


def read_webhook_endpoints(
    company_id: UUID, *, after: UUID | None, limit: int
) -> Page[WebhookEndpoint]:
    """Return the company's endpoints, newest first."""
    rows = WebhookEndpoint.objects.filter(company_id=company_id)
    if after:
        rows = rows.filter(id__lt=after)
    return Page.cut(list(rows.order_by("-id")[: limit + 1]), limit)


def read_webhook_endpoint(company_id: UUID, endpoint_id: UUID) -> WebhookEndpoint:
    """Return an endpoint of the company. Raises WebhookNotFound."""
    found = WebhookEndpoint.objects.filter(company_id=company_id, id=endpoint_id).first()
    if found is None:
        raise WebhookNotFound
    return found


def read_webhook_deliveries(
    endpoint: WebhookEndpoint,
    *,
    state: str | None = None,
    type_: str | None = None,
    after: UUID | None,
    limit: int,
) -> Page[WebhookDelivery]:
    """Return the deliveries to an endpoint, newest first, of a state and a type if given."""
    chosen = Q(endpoint_id=endpoint.id)
    if state:
        chosen &= Q(state=state)
    if type_:
        chosen &= Q(type=type_)
    if after:
        chosen &= Q(id__lt=after)
    rows = WebhookDelivery.objects.filter(chosen).order_by("-id")
    return Page.cut(list(rows[: limit + 1]), limit)


def read_webhook_delivery(endpoint: WebhookEndpoint, delivery_id: UUID) -> WebhookDelivery:
    """Return a delivery to an endpoint. Raises WebhookDeliveryNotFound."""
    found = WebhookDelivery.objects.filter(endpoint_id=endpoint.id, id=delivery_id).first()
    if found is None:
        raise WebhookDeliveryNotFound
    return found


def read_webhook_attempts(delivery_ids: Collection[UUID]) -> list[WebhookAttempt]:
    """Return the attempts of deliveries, newest first; at most MOST_ATTEMPTS_SHOWN."""
    found = WebhookAttempt.objects.filter(delivery_id__in=delivery_ids)
    return list(found.order_by("-number", "-id")[:MOST_ATTEMPTS_SHOWN])


def read_switched_off_endpoints(company_id: UUID) -> int:
    """Count the endpoints that were switched off because of their answers."""
    off = WebhookEndpoint.objects.filter(company_id=company_id, is_active=False)
    return off.exclude(off_reason=WebhookEndpoint.OffReason.BY_HAND).count()
