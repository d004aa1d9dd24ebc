"""Deliveries of webhooks and their attempts are removed after 30 days."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from pipeline.maintenance import expired_rows
from pipeline.models import WebhookAttempt, WebhookDelivery
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_what_is_older_than_30_days_goes() -> None:
    company = factories.company()
    for days in (29, 31):
        at = timezone.now() - timedelta(days=days)
        row = WebhookDelivery.objects.create(
            endpoint_id=company.id, source=str(days), type="webhook.test", body="{}"
        )
        WebhookDelivery.objects.filter(id=row.id).update(created_at=at)
        WebhookAttempt.objects.create(
            delivery_id=row.id, number=1, at=at, duration_ms=1, request_headers={}
        )

    removed = expired_rows.remove_batch()

    assert (removed["attempts"], removed["deliveries"]) == (1, 1)
    assert WebhookDelivery.objects.get().source == "29"
    assert WebhookAttempt.objects.get().delivery_id == WebhookDelivery.objects.get().id
