"""Queueing of deliveries: from events of a job's log, or of background work, to each endpoint.

Every event is queued once for each endpoint that wants it, however often this runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from pipeline.domain.states import ACCEPTED_UNTIL, PLANNED_SEATS, EventType
from pipeline.line import write
from pipeline.line.event_log import LogEntry, logged_time
from pipeline.line.locked_job import ALL_WEBHOOKS, LockedJob
from pipeline.models import Event, WebhookEndpoint, WebhookTaskPlace
from pipeline.webhooks import sql
from pipeline.work.catalog import COMPANY_TYPES
from tasks import events
from tasks.enqueue import NewTask, enqueue
from tasks.json import as_json
from tasks.models import Status, Task, TaskEvent
from tasks.payloads import CheckedPayload
from tasks.registry import find_registered_type
from tasks.sql.prepared import PreparedStatement, prepared_row

# Types of webhooks: one for each kind of event in the log, some for tasks, and the test. Pure.


TEST = "webhook.test"

# The meaning of each type, for people.
_OF_EVENTS = {
    EventType.APPLIED: "A person applied, or the company submitted them",
    EventType.VERIFIED: "A person proved their address",
    EventType.PROMOTED: "A person was offered a seat",
    EventType.ACKNOWLEDGED: "A person confirmed the seat",
    EventType.DEADLINE_EXTENDED: "A person got more time to confirm",
    EventType.DECAYED: "A person missed the deadline and is back in line",
    EventType.LAPSED: "A person missed the last deadline, or never proved the address",
    EventType.REINSTATED: "The company gave back a place that a miss or a decision had cost",
    EventType.PLACED: "A person got their place in line by the draw",
    EventType.DEFERRED: "A person asked for no offers until a time, or cancelled that request",
    EventType.PREACCEPTED: "A person accepted a seat in advance, or took that back",
    EventType.PASS_ASKED: "A person asked to pass their next turn, or took that back",
    EventType.PASSED: "A person passed a turn and keeps their place",
    EventType.WITHDRAWN: "A person left",
    EventType.REMOVED: "The company removed, rejected or hired a person",
    EventType.CLOSED_OUT: "A person was released because the job closed",
    EventType.CONTESTED: "A person asked the company to look again at how the application ended",
    EventType.CONTEST_ANSWERED: "The company answered the request, or the person was erased",
    EventType.JOB_CREATED: "A job was created",
    EventType.JOB_OPENED: "A job opened",
    EventType.JOB_PAUSED: "A job was paused",
    EventType.JOB_RESUMED: "A job was resumed",
    EventType.JOB_CLOSED: "A job closed",
    EventType.CAPACITY_CHANGED: "A job’s number of seats changed",
    EventType.POLICY_CHANGED: "A job’s rules changed",
    EventType.CLOCK_ADVANCED: "The clock of a sandbox was moved forward",
    EventType.DRAWN: "The order of a job’s line was drawn by lot",
}
_OF_TASKS = {
    "task.started": "A task began an attempt",
    "task.succeeded": "A task succeeded",
    "task.failed": "An attempt of a task failed",
    "task.ended": "A task ended, with any result",
}


_ALSO_OF_JOBS = ("CAPACITY_CHANGED", "POLICY_CHANGED", "CLOCK_ADVANCED", "DRAWN")


def webhook_type_of(event: str) -> str:
    """Return the type of a kind of event in the log, like `job.opened` or `application.applied`."""
    of_job = event.startswith("JOB_") or event in _ALSO_OF_JOBS
    return f"{'job' if of_job else 'application'}.{event.removeprefix('JOB_').lower()}"


# Every type that an endpoint can ask for, in the order in which they are shown, with its meaning.
TYPES: dict[str, str] = {
    webhook_type_of(event): about for event, about in _OF_EVENTS.items()
} | _OF_TASKS

# The types of an event of the engine, by its kind.
TYPES_OF_TASK_EVENT: dict[str, tuple[str, ...]] = {
    "started": ("task.started",),
    "succeeded": ("task.succeeded", "task.ended"),
    "failed": ("task.failed",),
    "dead": ("task.ended",),
    "cancelled": ("task.ended",),
    "discarded": ("task.ended",),
}


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


# Follow-up of changes: the task that queues deliveries, written with the events themselves.


# A change with more events than this (an import, a closed job) lets others go first.
FEW_EVENTS, LATER = 50, -10


def start_webhook_follow_up() -> None:
    """Queue deliveries of every change that is written from now on."""
    write.register_follow_up(webhook_follow_up_tasks)


def webhook_follow_up_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Return the task that queues these events, if an endpoint of the company wants any of them."""
    wanted = job.webhook_types
    if not wanted or not entries:
        return []
    if ALL_WEBHOOKS not in wanted and not any(
        webhook_type_of(each.event) in wanted for each in entries
    ):
        return []
    payload = {
        "company_id": str(job.company_id),
        "job_id": str(job.id),
        "first_seq": entries[0].seq,
        "last_seq": entries[-1].seq,
    }
    return [NewTask(QUEUE, payload, priority=0 if len(entries) <= FEW_EVENTS else LATER)]


# Events of a company's own background work, read in order for its webhooks. The engine gives its
# events in order and without a gap, once their transactions have ended. The place up to which they
# were read is stored in the transaction that queues them, so that each is queued once.


TASK_EVENTS_BATCH = 1_000
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
        limit=TASK_EVENTS_BATCH,
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
        len(found) == TASK_EVENTS_BATCH,
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
