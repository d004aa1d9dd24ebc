"""Start of background work for a company: check the requests, count them, enqueue them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings

from pipeline.background.catalog import COMPANY_TYPES, is_switched_off_in_catalog
from pipeline.background.errors import (
    Backlogged,
    DemoSwitchedOff,
    RateExceeded,
    TaskRequestRefused,
    TooManyAtOnce,
    TypeNotAllowed,
    WorkError,
)
from pipeline.background.key_limits import limits_of_key
from pipeline.background.ownership import ids_not_owned
from pipeline.background.tasks import count_waiting_tasks
from pipeline.database.instants import database_now
from pipeline.limits.rate_limit import Rate, Tally, count_against_rate
from pipeline.models import Producer
from tasks import registry
from tasks.enqueue import LONGEST_DELAY_SECONDS, Enqueued, NewTask, enqueue_many
from tasks.errors import OutOfRange, TaskError, UnknownType
from tasks.payloads import check_payload
from tasks.stats.site import site_backlog

security = logging.getLogger("security")

# The name under which starts are counted, also in settings.THROTTLE_RATES.
RATE = "tasks"
# When to try again after a full backlog: a rough estimate.
ROOM_AGAIN_SECONDS = 30

OnCount = Callable[[Rate, Tally], None]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Task that a company asks for; `tasks.enqueue.NewTask` explains the fields."""

    key: str
    payload: Any = None
    version: int | None = None
    priority: int = 0
    run_after: datetime | None = None
    delay_seconds: float = 0
    max_attempts: int | None = None
    idempotency_key: str | None = None


def start_tasks(
    *,
    company_id: UUID,
    producer: str,
    requests: Sequence[TaskRequest],
    key_id: UUID | None = None,
    on_count: OnCount | None = None,
) -> list[Enqueued]:
    """Enqueue all requested tasks for a company, or none. The results are in the same order.

    `producer` is "member:<user id>" or "key:<key id>". `key_id` is the API key, whose limits an
    owner may have set. `on_count` receives the remainder of the producer's rate.

    Raises UnknownType (also for what no company may start), InvalidPayload (also for ids that are
    not the company's), PayloadTooLarge, OutOfRange, TypeNotAllowed, Backlogged, RateExceeded,
    TooManyAtOnce; for one of several requests TaskRequestRefused, with its index and the reason.
    """
    allowed = limits_of_key(key_id)
    now = database_now() if any(request.run_after for request in requests) else None
    checked = [
        _check_task_to_start(request, company_id, producer, allowed, now) for request in requests
    ]
    foreign = ids_not_owned(company_id, [(request.key, request.payload) for request in requests])
    tasks = []
    for number, task in enumerate(checked):
        error = task if isinstance(task, Exception) else foreign.get(number)
        if error is not None:
            raise error if len(requests) == 1 else TaskRequestRefused(number, error)
        tasks.append(cast(NewTask, task))
    _refuse_start_on_overflow(company_id, len(tasks))
    _count_started_tasks(producer, len(tasks), allowed, on_count)
    enqueued = enqueue_many(tasks)
    for made, request in zip(enqueued, requests, strict=True):
        if request.key.endswith(".export"):
            ids = {"company": str(company_id), "task": str(made.id)}
            security.info("export.started", extra=ids | {"what": request.key})
    return enqueued


def _check_task_to_start(
    request: TaskRequest,
    company_id: UUID,
    producer: str,
    allowed: Producer | None,
    now: datetime | None,
) -> NewTask | TaskError | WorkError:
    """Return the task to enqueue, or the error that refuses it.

    A time in the past counts as now, so that a task cannot use it to get ahead of others.
    """
    run_after, delay_seconds = request.run_after, request.delay_seconds
    try:
        check_type_to_start(request.key, allowed)
        spec = registry.find_registered_type(request.key, request.version)
        payload = check_payload(spec, {} if request.payload is None else request.payload)
        if run_after is not None and now is not None:
            ahead_seconds = (run_after - now) / timedelta(seconds=1)
            if ahead_seconds > LONGEST_DELAY_SECONDS:
                latest = now + timedelta(seconds=LONGEST_DELAY_SECONDS)
                raise OutOfRange("run_after", run_after.isoformat(), "now", latest.isoformat())
            if ahead_seconds <= 0:
                run_after, delay_seconds = None, 0
    except (TaskError, WorkError) as error:
        return error
    return NewTask(
        key=request.key,
        payload=payload,
        priority=request.priority,
        run_after=run_after,
        delay_seconds=delay_seconds,
        max_attempts=request.max_attempts,
        idempotency_key=request.idempotency_key,
        owner_id=company_id,
        producer=producer,
    )


def types_to_start(key_id: UUID | None) -> Container[str]:
    """Return the types that an API key may start, or without a key all that companies may start."""
    allowed = limits_of_key(key_id)
    return COMPANY_TYPES if allowed is None or allowed.types is None else allowed.types


def check_type_to_start(key: str, allowed: Producer | None = None) -> None:
    """Refuse a type that no company may start, or that this key may not start.

    Raises UnknownType (DemoSwitchedOff for a demo type), TypeNotAllowed.
    """
    if key not in COMPANY_TYPES:
        raise UnknownType(key)
    if is_switched_off_in_catalog(key):
        raise DemoSwitchedOff(key)
    if allowed is not None and allowed.types is not None and key not in allowed.types:
        raise TypeNotAllowed(key)


def _refuse_start_on_overflow(company_id: UUID, more: int) -> None:
    """Refuse work if the backlog of this company or of all is full. Counts only up to the limit."""
    own, whole = settings.TASK_BACKLOG_PER_COMPANY, settings.TASK_BACKLOG_LIMIT
    if count_waiting_tasks(company_id, most=own) + more > own:
        raise Backlogged(own=True, limit=own, wait=ROOM_AGAIN_SECONDS)
    if site_backlog(whole) + more > whole:
        raise Backlogged(own=False, limit=whole, wait=ROOM_AGAIN_SECONDS)


def _count_started_tasks(
    producer: str, cost: int, allowed: Producer | None, on_count: OnCount | None
) -> None:
    """Count started tasks against the key's own rate or the site's.

    Raises RateExceeded, TooManyAtOnce.
    """
    given = settings.THROTTLE_RATES[RATE]
    if allowed is not None and allowed.per_minute is not None:
        given = (allowed.per_minute, 60)
    if given is None:
        return
    rate = Rate(*given)
    if cost > rate.limit:
        raise TooManyAtOnce(count=cost, limit=rate.limit, seconds=rate.seconds)
    tally = count_against_rate(RATE, producer, rate, cost)
    if on_count is not None:
        on_count(rate, tally)
    if not tally.allowed:
        raise RateExceeded(limit=rate.limit, seconds=rate.seconds, wait=tally.wait_seconds)
