"""Sending again: one delivery, or all that failed since a time."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from jobs.models import Company
from pipeline.domain.errors import (
    WebhookDeliveryNotFound,
    WebhookNotFound,
    WebhookOff,
)
from pipeline.models import WebhookDelivery
from pipeline.webhooks import endpoints
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import (
    redeliver_failed,
    redeliver_one,
    send_test,
    start_redelivering,
)
from tests.support.receiver import Receiver
from tests.support.webhooks import endpoint, only_delivery

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_delivery_is_sent_again_under_its_id_with_all_attempts(
    company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    sent = send_test(company_id=company.id, endpoint_id=made.id)
    send_due_webhooks()

    redeliver_one(company_id=company.id, endpoint_id=made.id, delivery_id=sent.id)
    waiting = only_delivery()
    send_due_webhooks()

    assert (waiting.state, waiting.earlier_attempts) == ("PENDING", 1)
    assert (only_delivery().state, only_delivery().attempts) == ("DELIVERED", 2)
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)


def test_all_that_failed_since_a_time_is_sent_again(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    tests = [send_test(company_id=company.id, endpoint_id=made.id) for _ in range(4)]
    old, delivered, *failed = [each.id for each in tests]
    ended = WebhookDelivery.objects.filter(id__in=[old, *failed])
    ended.update(state="FAILED", next_attempt_at=None, finished_at=Now())
    WebhookDelivery.objects.filter(id=old).update(created_at=timezone.now() - timedelta(days=2))
    send_due_webhooks()

    since = timezone.now() - timedelta(days=1)
    count = redeliver_failed(company_id=company.id, endpoint_id=made.id, since=since)
    again = redeliver_failed(company_id=company.id, endpoint_id=made.id, since=since)
    send_due_webhooks()

    assert (count, again) == (2, 0)
    assert WebhookDelivery.objects.get(state="FAILED").id == old
    assert len(receiver.received) == 3
    assert delivered


def test_only_the_companys_own_and_only_where_it_is_on(
    company: Company, other_company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    sent = send_test(company_id=company.id, endpoint_id=made.id)
    ids = {"endpoint_id": made.id, "delivery_id": sent.id}

    with pytest.raises(WebhookNotFound):
        redeliver_one(company_id=other_company.id, **ids)
    with pytest.raises(WebhookDeliveryNotFound):
        redeliver_one(company_id=company.id, endpoint_id=made.id, delivery_id=uuid4())
    endpoints.change(company_id=company.id, endpoint_id=made.id, changes={"is_active": False})
    with pytest.raises(WebhookOff):
        redeliver_one(company_id=company.id, **ids)
    with pytest.raises(WebhookOff):
        start_redelivering(company_id=company.id, endpoint_id=made.id, since=timezone.now())
