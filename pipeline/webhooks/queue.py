"""Queueing of deliveries: from events of a job's log, or of background work, to each endpoint.

Every event is queued once for each endpoint that wants it, however often this runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from uuid_utils.compat import uuid7

from pipeline.domain.events import JOB_EVENTS
from pipeline.domain.place import WISHES
from pipeline.domain.states import ACCEPTED_UNTIL, PLANNED_SEATS
from pipeline.domain.verbs import DECLARED
from pipeline.line import write
from pipeline.line.event_log import LogEntry, logged_time
from pipeline.line.locked_job import ALL_WEBHOOKS, LockedJob
from pipeline.models import Event, WebhookEndpoint, WebhookTaskPlace
from pipeline.work.catalog import COMPANY_TYPES
from tasks import events
from tasks.enqueue import NewTask, enqueue
from tasks.json import as_json
from tasks.models import Status, Task, TaskEvent
from tasks.payloads import CheckedPayload
from tasks.registry import find_registered_type
from tasks.sql.prepared import PreparedStatement

# Types of webhooks: one for each kind of event in the log, some for messages and tasks, and the
# test. Pure.


TEST = "webhook.test"

_OF_TASKS = {
    "task.started": gettext_lazy("A task began an attempt"),
    "task.succeeded": gettext_lazy("A task succeeded"),
    "task.failed": gettext_lazy("An attempt of a task failed"),
    "task.ended": gettext_lazy("A task ended, with any result"),
}


MESSAGE_RECEIVED = "message.received"
_OF_MESSAGES = {MESSAGE_RECEIVED: gettext_lazy("An applicant wrote a message")}


def public_type(event: str) -> str:
    """Return the type of a kind of event in the log, like `job.opened` or `application.applied`."""
    return f"{'job' if event in JOB_EVENTS else 'application'}.{event.removeprefix('JOB_').lower()}"


# Every type that an endpoint can ask for, in the order in which they are shown, with its meaning.
TYPES: Mapping[str, str | Promise] = {
    **{public_type(event): each.webhook for event, each in DECLARED.items()},
    **_OF_MESSAGES,
    **_OF_TASKS,
}

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
_TOLD = (PLANNED_SEATS, ACCEPTED_UNTIL, *sorted(WISHES))
# The types of the tasks that queue events, and that deliver what is due.
QUEUE, DELIVER = "webhooks.queue", "webhooks.deliver"
# Events read and queued in one transaction.
BATCH = 500

# Lock a company's endpoints that are on, in one order. Each row also says if it is a sandbox.
LOCK_COMPANY = PreparedStatement("""
SELECT id, types, created_at,
       (SELECT sandbox_of_id IS NOT NULL FROM jobs_company WHERE id = %(company)s)
FROM pipeline_webhookendpoint
WHERE company_id = %(company)s AND is_active ORDER BY id FOR NO KEY UPDATE
""")

# Queue events for endpoints, each once, and make these due. Returns the number of new ones.
#
# The caller has locked them (`LOCK_COMPANY`), so that a run that gives one back has seen what is
# queued here, or this sees that it was given back.
INSERT = PreparedStatement("""
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(events)s::json) AS g(
        source text, type text, body text, endpoint_id uuid, id uuid)
), made AS (
    INSERT INTO pipeline_webhookdelivery (id, endpoint_id, source, type, body, state, attempts,
        earlier_attempts, last_error, next_attempt_at)
    SELECT id, endpoint_id, source, type, body, 'PENDING', 0, 0, '', statement_timestamp()
    FROM given ON CONFLICT (endpoint_id, source) DO NOTHING
    RETURNING endpoint_id
), due AS (
    UPDATE pipeline_webhookendpoint e
    SET next_due_at = least(e.next_due_at, greatest(statement_timestamp(), e.rests_until))
    WHERE e.id IN (SELECT endpoint_id FROM made)
)
SELECT count(*) FROM made
""")


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


def add_events(*, job_id: UUID, company_id: UUID, first_seq: int, last_seq: int) -> int:
    """Queue the events of a job between two seqs, and return how many deliveries that made."""
    made, seq = 0, first_seq
    while seq <= last_seq:
        until = min(last_seq, seq + BATCH - 1)
        events = Event.objects.filter(job_id=job_id, company_id=company_id, seq__range=(seq, until))
        made += add(company_id, [_describe_event(event) for event in events.order_by("seq")])
        seq = until + 1
    return made


@transaction.atomic
def add(company_id: UUID, occurrences: Iterable[QueuedOccurrence]) -> int:
    """Queue occurrences for the company's endpoints that want them; return how many are new.

    An endpoint gets nothing that happened before it was created.
    """
    endpoints = LOCK_COMPANY.all(company=company_id)
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
    [(made,)] = INSERT.all(events=as_json(rows)) if rows else [(0,)]
    return int(made)


def wake(at: datetime | None = None) -> None:
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


def _describe_event(event: Event) -> QueuedOccurrence:
    """Describe an event of the log: ids, codes and numbers, like everything in the log."""
    return QueuedOccurrence(
        source=f"event:{event.job_id}:{event.seq}",
        type=public_type(event.event),
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


def make_due(endpoint_id: UUID) -> None:
    """Make an endpoint due now, even if it rests; the caller has locked it."""
    WebhookEndpoint.objects.filter(id=endpoint_id).update(next_due_at=Now(), rests_until=None)


# Follow-up of changes: the task that queues deliveries, written with the events themselves.


# A change with more events than this (an import, a closed job) lets others go first.
FEW_EVENTS, LATER = 50, -10


def start_follow_up() -> None:
    """Queue deliveries of every change that is written from now on."""
    write.register_follow_up(follow_up_tasks)


def follow_up_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Return the task that queues these events, if an endpoint of the company wants any of them."""
    wanted = job.webhook_types
    if not wanted or not entries:
        return []
    if ALL_WEBHOOKS not in wanted and not any(
        public_type(each.event) in wanted for each in entries
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
def add_task_events() -> tuple[int, bool, bool]:
    """Queue the next events of companies' tasks.

    Return how many deliveries that made, whether more can be read now, and whether more may come
    soon. While no endpoint wants any, everything is passed over; so are events from before the
    first call.
    """
    place = WebhookTaskPlace.objects.select_for_update().filter(id=_PLACE).first()
    asking = WebhookEndpoint.objects.filter(Q(types=[]) | Q(types__overlap=_NAMES), is_active=True)
    if place is None or not asking.exists():
        WebhookTaskPlace.objects.update_or_create(
            id=_PLACE, defaults=asdict(events.newest_position())
        )
        return 0, False, False
    found, following = events.read_since(
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
        _add_read_events(found),
        len(found) == TASK_EVENTS_BATCH,
        bool(found) or under_way.exists(),
    )


def _add_read_events(found: list[TaskEvent]) -> int:
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
    return sum(add(company_id, occurrences) for company_id, occurrences in told.items())
