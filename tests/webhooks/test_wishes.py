"""Deliveries about what a person who waits asked for."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from jobs.models import Company
from pipeline.line.event_log import logged_time
from pipeline.models import WebhookDelivery
from pipeline.services.turns import defer, preaccept
from tests.support import factories
from tests.support.clock import database_now
from tests.support.webhooks import endpoint, queue_all

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_wish_and_its_withdrawal_differ(company: Company) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job)
    waiting = factories.application(job)
    made, owner = [], factories.owner_of(waiting)
    until = database_now() + timedelta(days=1)
    endpoint(company.id, "https://hooks.example.com/x")
    for moment in (until, None):
        preaccept(application_id=waiting.id, accept_until=moment, actor=owner)
        defer(application_id=waiting.id, not_before=moment, actor=owner)
    queue_all()

    for delivery in WebhookDelivery.objects.order_by("id"):
        kind, data = delivery.type, json.loads(delivery.body)["data"]
        if kind in ("application.preaccepted", "application.deferred"):
            made.append((data["event"], data.get("accept_until"), data.get("not_before")))

    said = logged_time(until)
    assert made == [
        ("PREACCEPTED", said, None),
        ("DEFERRED", said, said),
        ("PREACCEPTED", None, said),
        ("DEFERRED", None, None),
    ]
