"""Webhooks through a real task worker: each event arrives at once, and none is lost by a kill."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime
from uuid import UUID

import pytest
import standardwebhooks
from django.db.models.functions import Now

from jobs.models import Company
from pipeline.models import WebhookDelivery, WebhookEndpoint
from tests.support import factories
from tests.support.receiver import Receiver, reply
from tests.support.task_workers import StartWorker, alive, children_of
from tests.support.waiting import eventually
from tests.support.webhooks import delivery_states, endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
OWN_TYPES = {"DJANGO_SETTINGS_MODULE": "pipeline.settings"}


def test_an_event_arrives_while_the_worker_is_idle(
    company: Company, job: UUID, receiver: Receiver, start_worker: StartWorker
) -> None:
    _, secret = endpoint(company.id, receiver.url)
    start_worker(**OWN_TYPES)

    factories.application(job)
    eventually(lambda: receiver.received)

    [got] = receiver.received
    assert standardwebhooks.Webhook(secret).verify(got.body, got.headers)["data"]["seq"] == 3
    eventually(lambda: delivery_states() == {"DELIVERED": 1})


def test_a_killed_worker_loses_no_delivery(
    company: Company, job: UUID, receiver: Receiver, start_worker: StartWorker
) -> None:
    endpoint(company.id, receiver.url)
    receiver.answer = lambda handler: (time.sleep(0.3), reply(handler, 204))[1]
    first = start_worker("--lease", "2", **OWN_TYPES)
    factories.applications(job, 60)
    eventually(lambda: len(receiver.received) >= 10)

    children = children_of(first)
    first.signal(signal.SIGKILL)
    killed_at = datetime.now(UTC)
    # Its child goes on until it notices, and could lease the endpoint once more.
    eventually(lambda: not any(alive(pid) for pid in children))
    WebhookEndpoint.objects.update(leased_until=Now())  # the minute of its lease is over
    start_worker("--lease", "2", **OWN_TYPES)
    eventually(lambda: delivery_states() == {"DELIVERED": 60})

    seqs = {each.json["data"]["seq"] for each in receiver.received}
    ids = {each.id for each in receiver.received}
    assert seqs == set(range(3, 63))
    assert len(ids) == 60  # what came twice came under its id
    assert WebhookDelivery.objects.filter(finished_at__gt=killed_at).exists()
