"""Start of background work for a company: orders are checked, counted and enqueued."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

from django.conf import settings

from pipeline.background.catalog import COMPANY_TYPES
from pipeline.background.errors import (
    Backlogged,
    OrderRefused,
    RateExceeded,
    TooManyAtOnce,
    TypeNotAllowed,
    WorkError,
)
from pipeline.background.ownership import foreign_ids
from pipeline.background.tasks import waiting_of
from pipeline.limits.rate_limit import Rate, Tally, count
from pipeline.models import Producer
from pipeline.selectors.paging import database_now
from tasks import registry
from tasks.enqueue import LONGEST_DELAY_SECONDS, Enqueued, NewTask, enqueue_many
from tasks.errors import OutOfRange, TaskError, UnknownType
from tasks.payloads import checked
from tasks.stats import site

# The name under which starts are counted, in settings.THROTTLE_RATES too.
RATE = "tasks"
# When to look again whether there is room; nobody knows better.
ROOM_AGAIN_SECONDS = 30

OnCount = Callable[[Rate, Tally], None]


@dataclass(frozen=True, slots=True)
class Order:
    """Background work that a company orders; see `tasks.enqueue.NewTask` for the fields."""

    key: str
    payload: Any = None
    version: int | None = None
    priority: int = 0
    run_after: datetime | None = None
    delay_seconds: float = 0
    max_attempts: int | None = None
    idempotency_key: str | None = None


def start(
    *,
    company_id: UUID,
    producer: str,
    orders: Sequence[Order],
    key_id: UUID | None = None,
    on_count: OnCount | None = None,
) -> list[Enqueued]:
    """Enqueue all the orders for a company, or none; the answers are in the same order.

    `producer`: who asks, "member:<user id>" or "key:<key id>"; `key_id`: the key, whose owner may
    have narrowed what it may start. `on_count` is told what is left of the producer's rate.

    Raises UnknownType (also for what no company may start), InvalidPayload (also for ids that are
    not the company's), PayloadTooLarge, OutOfRange, TypeNotAllowed, Backlogged, RateExceeded,
    TooManyAtOnce; of several orders OrderRefused, which says of which and has the reason.
    """
    allowed = limits_of_key(key_id)
    fit = _fit(company_id, orders, allowed)
    for number, (_order, against) in enumerate(fit):
        if against is not None:
            _refuse(number, against, len(orders))
    _refuse_overflow(company_id, len(orders))
    _count(producer, len(orders), allowed, on_count)
    return enqueue_many([_task(order, company_id, producer) for order, _ in fit])


def _fit(
    company_id: UUID, orders: Sequence[Order], allowed: Producer | None
) -> list[tuple[Order, Exception | None]]:
    """Return the orders as they are to be enqueued, each with what speaks against it."""
    now = database_now() if any(order.run_after for order in orders) else None
    looked_at = [_looked_at(order, allowed, now) for order in orders]
    foreign = foreign_ids(company_id, [(order.key, order.payload) for order in orders])
    return [
        (order, against or foreign.get(number)) for number, (order, against) in enumerate(looked_at)
    ]


def _looked_at(
    order: Order, allowed: Producer | None, now: datetime | None
) -> tuple[Order, Exception | None]:
    try:
        check_type(order.key, allowed)
        kind = registry.find(order.key, order.version)
        checked(kind, {} if order.payload is None else order.payload)
        return _timed(order, now), None
    except (TaskError, WorkError) as error:
        return order, error


def may_start(key_id: UUID | None) -> Container[str]:
    """Return the keys of the types that an API key may start, in one query.

    Without a key, all types that companies may start.
    """
    allowed = limits_of_key(key_id)
    return COMPANY_TYPES if allowed is None or allowed.types is None else allowed.types


def limits_of_key(key_id: UUID | None) -> Producer | None:
    """Return the limits of a key; None without a key, or without limits."""
    return Producer.objects.filter(key_id=key_id).first() if key_id else None


def _refuse(number: int, reason: Exception, among: int) -> NoReturn:
    """Refuse, and say of several orders which one it was."""
    raise reason if among == 1 else OrderRefused(number, reason)


def check_type(key: str, allowed: Producer | None = None) -> None:
    """Refuse a type that no company may start, or not by this key. Raises UnknownType.

    TypeNotAllowed.
    """
    if key not in COMPANY_TYPES:
        raise UnknownType(key)
    if allowed is not None and allowed.types is not None and key not in allowed.types:
        raise TypeNotAllowed(key)


def _refuse_overflow(company_id: UUID, more: int) -> None:
    """Refuse what would have to wait behind too much, of all companies or of this one.

    Bounded: it counts no further than to the limit.
    """
    own, whole = settings.TASK_BACKLOG_PER_COMPANY, settings.TASK_BACKLOG_LIMIT
    if waiting_of(company_id, most=own) + more > own:
        raise Backlogged(own=True, limit=own, wait=ROOM_AGAIN_SECONDS)
    if site.backlog(whole) + more > whole:
        raise Backlogged(own=False, limit=whole, wait=ROOM_AGAIN_SECONDS)


def _count(producer: str, cost: int, allowed: Producer | None, on_count: OnCount | None) -> None:
    """Count against the key's own rate, or the site's. Raises RateExceeded, TooManyAtOnce."""
    given = settings.THROTTLE_RATES[RATE]
    if allowed is not None and allowed.per_minute is not None:
        given = (allowed.per_minute, 60)
    if given is None:
        return
    rate = Rate(*given)
    if cost > rate.limit:
        raise TooManyAtOnce(count=cost, limit=rate.limit, seconds=rate.seconds)
    tally = count(RATE, producer, rate, cost)
    if on_count is not None:
        on_count(rate, tally)
    if not tally.allowed:
        raise RateExceeded(limit=rate.limit, seconds=rate.seconds, wait=tally.wait_seconds)


def _timed(order: Order, now: datetime | None) -> Order:
    """Return the order; a past time becomes now, so that nobody jumps the queue.

    Raises OutOfRange for a time too far ahead.
    """
    if order.run_after is None or now is None:
        return order
    ahead = (order.run_after - now) / timedelta(seconds=1)
    if ahead > LONGEST_DELAY_SECONDS:
        raise OutOfRange("run_after", round(ahead), 0, LONGEST_DELAY_SECONDS)
    return replace(order, run_after=None, delay_seconds=0) if ahead <= 0 else order


def _task(order: Order, company_id: UUID, producer: str) -> NewTask:
    return NewTask(
        key=order.key,
        payload=order.payload,
        version=order.version,
        priority=order.priority,
        run_after=order.run_after,
        delay_seconds=order.delay_seconds,
        max_attempts=order.max_attempts,
        idempotency_key=order.idempotency_key,
        owner_id=company_id,
        producer=producer,
    )
