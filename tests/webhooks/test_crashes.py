"""Runs that die, lose their lease, or are cancelled: nothing is lost, and ids stay the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from jobs.models import Company
from pipeline.models import WebhookAttempt, WebhookEndpoint
from pipeline.webhooks import deliver as runs
from pipeline.webhooks import endpoints
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.lanes import LARGEST_BATCH
from tests.support.receiver import Receiver, reply
from tests.support.webhooks import (
    delivery_states,
    endpoint,
    only_delivery,
    queue_many,
)

pytestmark = pytest.mark.django_db(transaction=True)


def die_with_an_answer(run: Any, _now: float) -> None:
    if run._unwritten:
        raise SystemExit


def test_a_run_that_died_is_taken_over_and_sends_the_same_id_again(
    company: Company, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies between the answer and the record."""
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    with monkeypatch.context() as dying:
        dying.setattr(runs.DeliveryRun, "_write", die_with_an_answer)
        with pytest.raises(SystemExit):
            send_due_webhooks()
    nobody_may = send_due_webhooks()
    WebhookEndpoint.objects.update(leased_until=Now())

    send_due_webhooks()

    assert nobody_may["attempts"] == 0
    first, second = receiver.received
    assert first.id == second.id
    assert delivery_states() == {"DELIVERED": 1}


def test_a_run_that_lost_its_lease_records_nothing(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 1)
    receiver.answer = lambda handler: (
        WebhookEndpoint.objects.filter(id=made.id).update(lease=made.id),
        connection.close(),
        reply(handler, 204),
    )[2]

    send_due_webhooks()

    assert only_delivery().state == "PENDING"
    assert WebhookAttempt.objects.count() == 0
    assert WebhookEndpoint.objects.get(id=made.id).lease == made.id


def test_an_endpoint_deleted_meanwhile_gets_nothing_more(
    company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 5)

    endpoints.delete(company_id=company.id, endpoint_id=made.id)
    send_due_webhooks()

    assert receiver.received == []


def lose_by_deletion(made: WebhookEndpoint) -> None:
    endpoints.delete(company_id=made.company_id, endpoint_id=made.id)


def lose_to_another_run(made: WebhookEndpoint) -> None:
    WebhookEndpoint.objects.filter(id=made.id).update(lease=made.id)


@pytest.mark.parametrize("lose", [lose_by_deletion, lose_to_another_run])
def test_an_endpoint_lost_during_a_run_gets_no_more_than_what_is_under_way(
    company: Company, receiver: Receiver, lose: Callable[[WebhookEndpoint], None]
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 100)
    lost = threading.Event()

    def lose_at_first(handler: Any) -> None:
        if not lost.is_set():
            lost.set()
            lose(made)
            connection.close()  # that of this thread
        reply(handler, 204)

    receiver.answer = lose_at_first

    send_due_webhooks(seconds=5)

    sent = [each.id for each in receiver.received]
    assert len(sent) == len(set(sent)) <= LARGEST_BATCH
    assert delivery_states()["PENDING"] >= 100 - LARGEST_BATCH
