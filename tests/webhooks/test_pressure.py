"""Runs under pressure: receivers that fail, events that keep coming."""

from __future__ import annotations

import time

import pytest
from django.db import connection

from jobs.models import Company
from pipeline.models import WebhookEndpoint
from pipeline.webhooks import deliver as runs
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.lanes import REST_AFTER
from tests.support.receiver import Receiver, reply
from tests.support.webhooks import (
    delivery_states,
    endpoint,
    make_all_due,
    queue_many,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_everything_failing_uses_up_few_attempts(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 100)
    receiver.answers(500)

    send_due_webhooks()

    resting = WebhookEndpoint.objects.get(id=made.id)
    assert REST_AFTER <= len(receiver.received) <= REST_AFTER + 2
    assert resting.rests_until is not None
    assert resting.next_due_at == resting.rests_until
    assert resting.lease is None


def test_after_a_rest_one_is_tried_and_then_all(company: Company, receiver: Receiver) -> None:
    endpoint(company.id, receiver.url)
    queue_many(company, 30)
    receiver.answers(500)
    send_due_webhooks()
    tried = len(receiver.received)
    make_all_due()
    send_due_webhooks()
    after_a_rest = len(receiver.received)
    receiver.answers(204)
    make_all_due()

    send_due_webhooks()

    assert after_a_rest == tried + 1
    assert delivery_states() == {"DELIVERED": 30}


def test_new_events_do_not_wake_a_resting_endpoint(company: Company, receiver: Receiver) -> None:
    endpoint(company.id, receiver.url)
    queue_many(company, 10)
    receiver.answers(500)
    send_due_webhooks()
    tried = len(receiver.received)
    queue_many(company, 5, start=10)

    send_due_webhooks()

    assert len(receiver.received) == tried


def test_events_that_come_during_a_run_are_not_forgotten(
    company: Company, receiver: Receiver
) -> None:
    """Deliveries that are queued while the endpoint is given back make it due again."""
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    rounds = iter(range(5))

    def one_more(handler: object) -> None:
        if (n := next(rounds, None)) is not None:
            queue_many(company, 1, start=100 + n)
            connection.close()  # that of this thread
        reply(handler, 204)  # type: ignore[arg-type]

    receiver.answer = one_more

    send_due_webhooks()

    assert delivery_states() == {"DELIVERED": 6}


def test_a_cancelled_run_gives_everything_back(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 50)
    receiver.answer = lambda handler: (time.sleep(0.05), reply(handler, 204))[1]

    send_due_webhooks(is_cancelled=lambda: len(receiver.received) >= 4)

    left = WebhookEndpoint.objects.get(id=made.id)
    assert (left.lease, left.leased_until) == (None, None)
    assert left.next_due_at is not None
    counted = delivery_states()
    assert counted["DELIVERED"] == len(receiver.received)
    assert counted["PENDING"] == 50 - counted["DELIVERED"]


def test_endpoints_take_turns(company: Company, receiver: Receiver) -> None:
    """With room for one at a time, all endpoints are served, not the first one alone."""
    first, second = [endpoint(company.id, f"{receiver.url}/{n}") for n in range(2)]
    queue_many(company, 20)
    with pytest.MonkeyPatch.context() as narrow:
        narrow.setattr(runs, "MOST_UNDER_WAY", 2)
        narrow.setattr(runs, "LOOK_SECONDS", 0.0)
        send_due_webhooks(seconds=20, is_cancelled=lambda: len(receiver.received) >= 10)

    assert first != second
    paths = [each.path for each in receiver.received[:10]]
    assert {paths.count("/hook/0"), paths.count("/hook/1")} <= {4, 5, 6}
