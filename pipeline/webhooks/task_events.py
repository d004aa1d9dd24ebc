"""Events of a company's own background work, read in order for its webhooks.

The engine gives its events in order and without a gap, once their transactions have ended. The
place up to which they were read is stored in the transaction that queues them, so that each is
queued once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from uuid import UUID

from django.db import transaction

from pipeline.background.catalog import COMPANY_TYPES
from pipeline.models import WebhookEndpoint, WebhookTaskPlace
from pipeline.webhooks.queue import Occurrence, queue
from pipeline.webhooks.types import TYPES_OF_TASK_EVENT
from tasks import events
from tasks.models import Task, TaskEvent
from tasks.models.statuses import Status

BATCH = 1_000
_UNDER_WAY = [Status.PENDING, Status.RUNNING, Status.CANCELLING]
_PLACE = 1


@transaction.atomic
def queue_task_events() -> tuple[int, bool]:
    """Queue the next events of companies' tasks; return how many, and whether to look again soon.

    The first call of a database only notes the place: what happened before is not told.
    """
    place = WebhookTaskPlace.objects.select_for_update().filter(id=_PLACE).first()
    if place is None:
        WebhookTaskPlace.objects.create(id=_PLACE, **asdict(events.now()))
        return 0, True
    found, following = events.since(
        events.Position(place.after, place.settled, place.settles_at),
        kinds=TYPES_OF_TASK_EVENT,
        limit=BATCH,
    )
    queued = _queue(found)
    WebhookTaskPlace.objects.filter(id=_PLACE).update(**asdict(following))
    return queued, bool(found) or _may_follow()


def _queue(found: list[TaskEvent]) -> int:
    tasks = Task.objects.select_related("type").in_bulk({event.task_id for event in found})
    told: dict[UUID, list[Occurrence]] = defaultdict(list)
    for event in found:
        task = tasks.get(event.task_id)
        if task is None or task.owner_id is None or task.type.key not in COMPANY_TYPES:
            continue
        for name in TYPES_OF_TASK_EVENT[event.kind]:
            facts = {"task_id": task.id, "task_type": task.type.key, "attempt": event.attempt}
            told[task.owner_id].append(
                Occurrence(
                    source=f"task:{event.id}:{name}",
                    type=name,
                    at=event.at,
                    data={"company_id": task.owner_id, **facts, "event": event.kind},
                )
            )
    return sum(queue(company_id, occurrences) for company_id, occurrences in told.items())


def _may_follow() -> bool:
    """Tell whether a company that wants to know of its tasks has one under way."""
    wanted = list(TYPES_OF_TASK_EVENT_NAMES)
    asking = WebhookEndpoint.objects.filter(is_active=True)
    asking = asking.filter(types=[]) | asking.filter(types__overlap=wanted)
    owners = asking.values("company_id")
    return Task.objects.filter(
        owner_id__in=owners, status__in=_UNDER_WAY, type__key__in=COMPANY_TYPES
    ).exists()


TYPES_OF_TASK_EVENT_NAMES = sorted({name for names in TYPES_OF_TASK_EVENT.values() for name in names})
