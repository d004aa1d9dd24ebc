"""Webhooks about a company's own background work."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection
from django.db.models import Max

from jobs.models import Company
from pipeline.models import WebhookDelivery, WebhookTaskPlace
from pipeline.webhooks import queue
from tasks.enqueue import enqueue
from tasks.models import Task, TaskEvent
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhooks import endpoint

pytestmark = pytest.mark.django_db(transaction=True)

URL = "http://127.0.0.1:9/hook"


def happened(task: Any, *kinds: str) -> None:
    for kind in kinds:
        TaskEvent.objects.create(task_id=task.id, kind=kind, attempt=1)


def read_all() -> None:
    """Read until all is read: an event is given when what was open at the look before has ended."""
    newest = TaskEvent.objects.aggregate(newest=Max("id"))["newest"] or 0
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        queue.add_task_events()
        if WebhookTaskPlace.objects.get().after >= newest:
            return
        time.sleep(0.02)
    raise AssertionError("the events were not given")


def types() -> list[str]:
    return list(WebhookDelivery.objects.order_by("id").values_list("type", flat=True))


@pytest.fixture(autouse=True)
def begun(company: Company) -> None:
    endpoint(company.id, URL, "task.started", "task.succeeded", "task.failed", "task.ended")
    read_all()


def test_a_task_tells_when_it_starts_and_how_it_ends(company: Company) -> None:
    task = enqueue("demo.sleep", {}, owner_id=company.id)
    happened(task, "started", "failed", "retry_scheduled", "started", "succeeded")

    read_all()

    assert types() == [
        "task.started",
        "task.failed",
        "task.started",
        "task.succeeded",
        "task.ended",
    ]
    body = WebhookDelivery.objects.order_by("id")[0].body
    assert f'"task_id":"{task.id}"' in body
    assert '"task_type":"demo.sleep"' in body


def test_each_event_is_told_once(company: Company) -> None:
    task = enqueue("demo.sleep", {}, owner_id=company.id)
    happened(task, "started")

    for _ in range(3):
        read_all()

    assert types() == ["task.started"]


def test_the_sites_own_tasks_and_other_companies_are_not_told(
    company: Company, other_company: Company
) -> None:
    happened(enqueue("demo.sleep", {}), "started")
    happened(enqueue("demo.sleep", {}, owner_id=other_company.id), "started")
    internal = enqueue(
        "webhooks.redeliver",
        {"endpoint_id": str(company.id), "since": "2026-01-01T00:00:00Z"},
        owner_id=company.id,
    )
    happened(internal, "started")

    read_all()

    assert types() == []


def test_it_is_looked_again_while_a_companys_task_is_under_way(company: Company) -> None:
    idle = queue.add_task_events()[2]
    enqueue("demo.sleep", {}, owner_id=company.id)
    under_way = queue.add_task_events()[2]
    Task.objects.update(status="SUCCEEDED")
    happened(Task.objects.get(), "succeeded")
    read_all()
    read_all()

    assert (idle, under_way) == (False, True)
    assert queue.add_task_events()[2] is False


def test_while_nobody_asks_the_place_moves_on_without_reading(company: Company) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pipeline_webhookendpoint")
    happened(enqueue("demo.sleep", {}, owner_id=company.id), "started")
    queue.add_task_events()
    endpoint(company.id, URL)

    read_all()

    assert types() == []
    assert WebhookTaskPlace.objects.count() == 1
