"""Endpoints and deliveries in tests, and the work that task workers do with them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from jobs.models import Company
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.webhooks import endpoints, queue
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.queue import QUEUE, QueuedOccurrence
from tasks.models import Task


def endpoint(company_id: UUID, url: str, *types: str) -> tuple[WebhookEndpoint, str]:
    """An endpoint of a company, and its secret."""
    return endpoints.create(company_id=company_id, url=url, types=list(types))


def queue_all() -> int:
    """Run the tasks that queue deliveries, as a worker would; how many deliveries that made."""
    made = 0
    for task in Task.objects.filter(type__key=QUEUE, status="PENDING").order_by("id"):
        given: dict[str, Any] = {**task.payload}
        ids: dict[str, Any] = {name: UUID(given.pop(name)) for name in ("company_id", "job_id")}
        made += queue.add_events(**ids, **given)
        Task.objects.filter(id=task.id).delete()
    return made


def deliver(**how: Any) -> dict[str, int]:
    """Queue and deliver what is due."""
    queue_all()
    return send_due_webhooks(**how)


def make_all_due() -> None:
    """Let time pass until everything that waits is due."""
    WebhookDelivery.objects.filter(state="PENDING").update(next_attempt_at=Now())
    WebhookEndpoint.objects.update(next_due_at=Now(), rests_until=None)


def only_delivery() -> WebhookDelivery:
    """Return the only delivery."""
    return WebhookDelivery.objects.get()


def queue_many(company: Company, count: int, start: int = 0) -> None:
    """Queue this many events for all endpoints of a company."""
    now = WebhookEndpoint.objects.latest("created_at").created_at + timedelta(seconds=1)
    queue.add(
        company.id,
        [
            QueuedOccurrence(f"event:{n}", "job.opened", now, {"seq": n})
            for n in range(start, start + count)
        ],
    )


def delivery_states() -> dict[str, int]:
    found = WebhookDelivery.objects.values_list("state", flat=True)
    return {state: list(found).count(state) for state in set(found)}
