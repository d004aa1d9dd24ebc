"""Events of a company's own background work, read in order for its webhooks.

The engine gives its events in order and without a gap, once their transactions have ended. The
place up to which they were read is stored in the transaction that queues them, so that each is
queued once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from pipeline.background.catalog import COMPANY_TYPES
from pipeline.models import WebhookEndpoint, WebhookTaskPlace
from pipeline.webhooks.queue import QueuedOccurrence, queue_webhooks
from pipeline.webhooks.types import TYPES_OF_TASK_EVENT
from tasks import events
from tasks.models import Task, TaskEvent
from tasks.models.statuses import Status

BATCH = 1_000
SOON = timedelta(minutes=1)
_NAMES = sorted({name for names in TYPES_OF_TASK_EVENT.values() for name in names})
_PLACE = 1


@transaction.atomic
def queue_webhooks_of_task_events() -> tuple[int, bool, bool]:
    """Queue the next events of companies' tasks.

    Return how many deliveries that made, whether more can be read now, and whether more may come
    soon. While no endpoint wants any, everything is passed over; so are events from before the
    first call.
    """
    place = WebhookTaskPlace.objects.select_for_update().filter(id=_PLACE).first()
    asking = WebhookEndpoint.objects.filter(Q(types=[]) | Q(types__overlap=_NAMES), is_active=True)
    if place is None or not asking.exists():
        WebhookTaskPlace.objects.update_or_create(
            id=_PLACE, defaults=asdict(events.newest_event_position())
        )
        return 0, False, False
    found, following = events.events_since(
        events.Position(place.after, place.settled, place.settles_at),
        kinds=TYPES_OF_TASK_EVENT,
        limit=BATCH,
    )
    WebhookTaskPlace.objects.filter(id=_PLACE).update(**asdict(following))
    under_way = Task.objects.filter(
        Q(status__in=[Status.RUNNING, Status.CANCELLING])
        | Q(status=Status.PENDING, run_after__lte=Now() + SOON),
        owner_id__in=asking.values("company_id"),
        type__key__in=COMPANY_TYPES,
    )
    return (
        _queue_read_task_events(found),
        len(found) == BATCH,
        bool(found) or under_way.exists(),
    )


def _queue_read_task_events(found: list[TaskEvent]) -> int:
    tasks = Task.objects.select_related("type").in_bulk({event.task_id for event in found})
    told: dict[UUID, list[QueuedOccurrence]] = defaultdict(list)
    for event in found:
        task = tasks.get(event.task_id)
        if task is None or task.owner_id is None or task.type.key not in COMPANY_TYPES:
            continue
        for name in TYPES_OF_TASK_EVENT[event.kind]:
            facts = {"task_id": task.id, "task_type": task.type.key, "attempt": event.attempt}
            told[task.owner_id].append(
                QueuedOccurrence(
                    source=f"task:{event.id}:{name}",
                    type=name,
                    at=event.at,
                    data={"company_id": task.owner_id, **facts, "event": event.kind},
                )
            )
    return sum(queue_webhooks(company_id, occurrences) for company_id, occurrences in told.items())
