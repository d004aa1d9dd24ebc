"""Queueing of deliveries: from events of a job's log, or of background work, to each endpoint.

Every event is queued once for each endpoint that wants it, however often this runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from pipeline.domain.states import ACCEPTED_UNTIL, PLANNED_SEATS
from pipeline.line.event_log import logged_time
from pipeline.models import Event, WebhookEndpoint
from pipeline.webhooks import sql
from pipeline.webhooks.types import webhook_type_of
from tasks.enqueue import enqueue
from tasks.json import as_json
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.payloads import CheckedPayload
from tasks.registry import find_registered_type
from tasks.sql.prepared import PreparedStatement, prepared_row

# The further parts of an event's data that a webhook has, if present.
_TOLD = (PLANNED_SEATS, ACCEPTED_UNTIL, "accept_until", "not_before", "pass_next")
# The types of the tasks that queue events, and that deliver what is due.
QUEUE, DELIVER = "webhooks.queue", "webhooks.deliver"
# Events read and queued in one transaction.
BATCH = 500

_LOCK_COMPANY = PreparedStatement(sql.LOCK_COMPANY, prepared_row)
_INSERT = PreparedStatement(sql.QUEUE, prepared_row)


@dataclass(frozen=True, slots=True)
class QueuedOccurrence:
    """Event to deliver; `source` identifies it among everything that an endpoint can get."""

    source: str
    type: str
    at: datetime
    data: dict[str, Any]

    def body(self, *, is_test: bool) -> str:
        """Return the body of the delivery, the same in every attempt. A sandbox's says so."""
        told = {"type": self.type, "timestamp": logged_time(self.at), "data": self.data}
        return as_json(told | {"test": True} if is_test else told)


def queue_webhooks_of_events(
    *, job_id: UUID, company_id: UUID, first_seq: int, last_seq: int
) -> int:
    """Queue the events of a job between two seqs, and return how many deliveries that made."""
    made, seq = 0, first_seq
    while seq <= last_seq:
        until = min(last_seq, seq + BATCH - 1)
        events = Event.objects.filter(job_id=job_id, company_id=company_id, seq__range=(seq, until))
        made += queue_webhooks(
            company_id, [_webhook_occurrence_of(event) for event in events.order_by("seq")]
        )
        seq = until + 1
    return made


@transaction.atomic
def queue_webhooks(company_id: UUID, occurrences: Iterable[QueuedOccurrence]) -> int:
    """Queue occurrences for the company's endpoints that want them; return how many are new.

    An endpoint gets nothing that happened before it was created.
    """
    endpoints = _LOCK_COMPANY.all(company=company_id)
    rows = [
        {
            "id": str(uuid7()),
            "endpoint_id": str(endpoint_id),
            "source": each.source,
            "type": each.type,
            "body": each.body(is_test=is_test),
        }
        for each in occurrences
        for endpoint_id, types, created_at, is_test in endpoints
        if (not types or each.type in types) and each.at >= created_at
    ]
    [(made,)] = _INSERT.all(events=as_json(rows)) if rows else [(0,)]
    return int(made)


def wake_webhook_queue(at: datetime | None = None) -> None:
    """Start a task that sends what is due, at that time or now, unless one is waiting already.

    Call this after the commit that makes something due: a task that is waiting then has not read
    yet, and will see it.
    """
    # A task keeps milliseconds, a delivery microseconds: not a moment too early.
    due = at and at + timedelta(milliseconds=1)
    # Without `parked`, which the site's own tasks never are, no index would serve.
    waiting = Task.objects.filter(type__key=DELIVER, status=Status.PENDING, parked=False)
    soon = "run_after <= greatest(coalesce(%s, clock_timestamp()), clock_timestamp())"
    if not waiting.extra(where=[soon], params=[due]).exists():  # noqa: S610  a constant
        nothing = CheckedPayload(find_registered_type(DELIVER), "{}")
        enqueue(DELIVER, nothing, run_after=due)


def _webhook_occurrence_of(event: Event) -> QueuedOccurrence:
    """Describe an event of the log: ids, codes and numbers, like everything in the log."""
    return QueuedOccurrence(
        source=f"event:{event.job_id}:{event.seq}",
        type=webhook_type_of(event.event),
        at=event.at,
        data={
            "company_id": event.company_id,
            "job_id": event.job_id,
            "application_id": event.application_id,
            "seq": event.seq,
            "chain_head": bytes(event.hash).hex(),
            "event": event.event,
            "status": event.to_status,
            "outcome": event.outcome,
            **{name: event.data[name] for name in _TOLD if name in event.data},
        },
    )


def make_webhook_endpoint_due(endpoint_id: UUID) -> None:
    """Make an endpoint due now, even if it rests; the caller has locked it."""
    WebhookEndpoint.objects.filter(id=endpoint_id).update(next_due_at=Now(), rests_until=None)
