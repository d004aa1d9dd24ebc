"""Bodies of requests about background tasks."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from pipeline.api.v1.fields import AnyObject, Flag, Line, Moment, Shape, Text, Whole
from pipeline.api.v1.outputs import Count
from pipeline.files.imports.results import Outcome
from pipeline.work.catalog import KnownType
from pipeline.work.tasks import actor_names, actor_parts, worker_mark
from tasks.dead_letters import MOST_AT_ONCE
from tasks.enqueue import LONGEST_DELAY_SECONDS, LONGEST_KEY
from tasks.models import (
    HIGHEST_PRIORITY,
    LOWEST_PRIORITY,
    MOST_ATTEMPTS,
    Breaker,
    EventKind,
    Status,
    Task,
    TaskEvent,
)
from tasks.payloads import redact_payload

MOST_IN_A_BATCH = 100
LONGEST_TYPE = 200
HIGHEST_VERSION = 32_767
OF_A_REQUEST = "request:"
OF_A_SCHEDULE = "schedule:"


def priority_field() -> Whole:
    return Whole(min_value=LOWEST_PRIORITY, max_value=HIGHEST_PRIORITY, required=False)


def version_field() -> Whole:
    return Whole(min_value=1, max_value=HIGHEST_VERSION, required=False, allow_null=True)


class TaskIn(Shape):
    """A new task, to run now, at a time or after a delay."""

    together = {
        "not": {
            "required": ["run_after", "delay_seconds"],
            "properties": {"run_after": {"type": "string"}, "delay_seconds": {"minimum": 1}},
        }
    }

    type = Line(max_length=LONGEST_TYPE)
    version = version_field()
    payload = AnyObject(required=False)
    priority = priority_field()
    run_after = Moment(required=False, allow_null=True)
    delay_seconds = Whole(min_value=0, max_value=int(LONGEST_DELAY_SECONDS), required=False)
    max_attempts = Whole(min_value=1, max_value=MOST_ATTEMPTS, required=False, allow_null=True)
    idempotency_key = Text(max_length=LONGEST_KEY, required=False, allow_null=True)

    def validate_idempotency_key(self, value: str | None) -> str | None:
        """Refuse a key that starts like those of requests or schedules. Raises ValidationError."""
        if value and value.startswith((OF_A_REQUEST, OF_A_SCHEDULE)):
            why = _("Must begin with neither %(one)s nor %(other)s") % {
                "one": OF_A_REQUEST,
                "other": OF_A_SCHEDULE,
            }
            raise ValidationError([ErrorDetail(why, "invalid")])
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a body with both a time and a delay."""
        if attrs.get("run_after") is not None and attrs.get("delay_seconds"):
            why = ErrorDetail(_("Send either run_after or delay_seconds."), "invalid")
            raise ValidationError({"delay_seconds": [why]})
        return attrs


class TaskBatchIn(Shape):
    """Several new tasks. All of them are accepted, or none."""

    tasks = serializers.ListField(
        child=TaskIn(), min_length=1, max_length=MOST_IN_A_BATCH, allow_empty=False
    )


class TaskReplayIn(Shape):
    """A replay of a dead letter, with another payload if one is given."""

    payload = AnyObject(required=False, allow_null=True)
    confirmed = Flag(default=False)


class TaskReplaysIn(Shape):
    """A replay of the oldest dead letters of a type."""

    type = Line(max_length=LONGEST_TYPE)
    limit = Whole(min_value=1, max_value=MOST_AT_ONCE, default=100)
    confirmed = Flag(default=False)


# Responses about background tasks. Values that a payload's schema marks as secret are hidden.


Priority = Annotated[int, ("minimum", LOWEST_PRIORITY), ("maximum", HIGHEST_PRIORITY)]
TaskStatus = Annotated[str, ("codes", tuple(Status.values))]
ROW_STATUSES = ("ACCEPTED", "ALREADY_THERE", "REFUSED")
ACTORS = ("key", "member", "schedule", "worker", "system")


class TaskProgressOut(TypedDict):
    """A task's progress, as last reported by its handler."""

    done: int
    total: int
    note: str


class TaskErrorOut(TypedDict):
    """The error of a failed attempt."""

    attempt: Count
    at: datetime
    kind: str
    message: str


class FullTaskErrorOut(TaskErrorOut):
    """The error of a failed attempt, with its traceback."""

    traceback: str


class TaskOut(TypedDict):
    """A background task and its current state."""

    id: UUID
    type: str
    version: Count
    status: TaskStatus
    type_paused: bool
    priority: Priority
    attempt: Count
    max_attempts: Count
    run_after: datetime
    progress: TaskProgressOut | None
    result: Any
    last_error: TaskErrorOut | None
    idempotency_key: str | None
    producer: str
    request_id: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class FullTaskOut(TaskOut):
    """A background task with its payload and the errors of its attempts."""

    payload: Any
    errors: list[FullTaskErrorOut]


class NewTaskOut(TaskOut):
    """A requested task: a new one, or the first one with that key."""

    is_new: bool


class NewTasksOut(TypedDict):
    """The tasks of a batch, in the order of the request."""

    data: list[NewTaskOut]


class TaskActorOut(TypedDict):
    """An actor with a name. Workers and the system have no id."""

    kind: Annotated[str, ("codes", ACTORS)]
    id: UUID | None
    name: str


class TaskEventOut(TypedDict):
    """An event of a task. `worker` is a mark of the worker that wrote it, the same each time."""

    id: Count
    task_id: UUID
    kind: Annotated[str, ("codes", tuple(EventKind.values))]
    at: datetime
    attempt: Count
    actor: TaskActorOut
    worker: str | None
    data: Any


class ImportedRowOut(TypedDict):
    """A row of an import: its application, or the reason why it has none."""

    row: Count
    status: Annotated[str, ("codes", ROW_STATUSES)]
    application_id: UUID | None
    external_id: str | None
    code: str | None
    reason: str | None


def imported_row_out(outcome: Outcome) -> ImportedRowOut:
    """Return the response of a row."""
    status = "ALREADY_THERE" if outcome.already_there else "ACCEPTED"
    return {
        "row": outcome.row,
        "status": "REFUSED" if outcome.reason else status,
        "application_id": outcome.application_id,
        "external_id": outcome.external_id,
        "code": outcome.reason or None,
        "reason": outcome.words or None,
    }


class ReplayedOut(TypedDict):
    """The number of replayed dead letters."""

    replayed: Count


class RateOut(TypedDict):
    """A number of runs per number of seconds."""

    limit: Count
    seconds: float


class TaskTypeOut(TypedDict):
    """A type of background work that a company may start, with its limits."""

    key: str
    version: Count
    title: str
    description: str
    payload_schema: dict[str, Any]
    result_schema: dict[str, Any]
    queue: str
    timeout_seconds: float
    memory_bytes: Count
    max_attempts: Count
    concurrent_runs: Count | None
    rate: RateOut | None
    sensitive: bool
    allowed: bool
    paused: bool
    paused_by: TaskActorOut | None
    breaker: Annotated[str, ("codes", tuple(Breaker.values))]
    breaker_changed_at: datetime | None


class TaskTypesOut(TypedDict):
    """All types that a company may start."""

    data: list[TaskTypeOut]
    next_cursor: str | None


class TaskDepthOut(TypedDict):
    """The number of waiting tasks of a type and a priority."""

    type: str
    priority: Priority
    count: Count


class TaskAgeOut(TypedDict):
    """The waiting time of the oldest due task of a priority."""

    priority: Priority
    age_seconds: float


class TaskStatsOut(TypedDict):
    """A company's background work in numbers."""

    depth: list[TaskDepthOut]
    oldest: list[TaskAgeOut]
    running: Count
    dead: Count
    workers_alive: Count
    server_time: datetime


def task_out(task: Task, paused: Container[str] = ()) -> TaskOut:
    """Return a task. Its type must have been read with it. `paused` has the types that wait."""
    key = task.idempotency_key
    progress: TaskProgressOut | None = None
    if isinstance(task.progress, dict):
        done, total, note = (task.progress[name] for name in ("done", "total", "note"))
        progress = {"done": done, "total": total, "note": note}
    return {
        "id": task.id,
        "type": task.type.key,
        "version": task.type.version,
        "status": task.status,
        "type_paused": task.status == Status.PENDING and task.type.key in paused,
        "priority": task.priority,
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "run_after": task.run_after,
        "progress": progress,
        "result": task.result,
        "last_error": _error_out(task.errors[-1]) if task.errors else None,
        "idempotency_key": None if key and key.startswith(OF_A_REQUEST) else key,
        "producer": task.producer,
        "request_id": task.request_id,
        "created_at": task.created_at,
        "started_at": task.started_at,
        "finished_at": task.finished_at,
    }


def full_task_out(task: Task, paused: Container[str] = ()) -> FullTaskOut:
    """Return a task with its payload and all its errors."""
    return {
        **task_out(task, paused),
        "payload": redact_payload(task.type.schema, task.payload),
        "errors": [{**_error_out(error), "traceback": error["traceback"]} for error in task.errors],
    }


def new_task_out(task: Task, *, is_new: bool, paused: Container[str] = ()) -> NewTaskOut:
    """Return a requested task, with whether it is new."""
    return {**task_out(task, paused), "is_new": is_new}


def events_out(events: Iterable[TaskEvent]) -> list[TaskEventOut]:
    """Return task events with the actors' names."""
    events = list(events)
    names = actor_names(event.actor for event in events)
    return [
        {
            "id": event.id,
            "task_id": event.task_id,
            "kind": event.kind,
            "at": event.at,
            "attempt": event.attempt,
            "actor": actor_out(event.actor, names),
            "worker": worker_mark(event.actor),
            "data": event.data,
        }
        for event in events
    ]


def actor_out(actor: str, names: dict[str, str]) -> TaskActorOut:
    """Return an actor with its name."""
    kind, thing = actor_parts(actor)
    return {"kind": kind, "id": thing, "name": names[actor]}


def type_out(
    known: KnownType,
    *,
    paused_by: str | None,
    names: dict[str, str],
    allowed: Container[str],
    broken_since: datetime | None = None,
) -> TaskTypeOut:
    """Return a task type.

    `paused_by` is the actor who paused it for the company; `broken_since` is when its breaker
    opened for the company alone.
    """
    kind, row = known.kind, known.row
    by_the_site = row is not None and row.paused
    breaker = row.breaker if row and not broken_since else Breaker.CLOSED.value
    actor = actor_out(paused_by, names) if paused_by is not None else None
    if by_the_site and actor is None:
        actor = {"kind": "system", "id": None, "name": "the site"}
    return {
        "key": kind.key,
        "version": kind.version,
        "title": str(known.about.title),
        "description": str(known.about.about),
        "payload_schema": kind.schema,
        "result_schema": known.about.result,
        "queue": kind.queue,
        "timeout_seconds": kind.timeout_seconds,
        "memory_bytes": kind.memory_bytes,
        "max_attempts": kind.max_attempts,
        "concurrent_runs": kind.cap,
        "rate": {"limit": kind.rate[0], "seconds": kind.rate[1]} if kind.rate else None,
        "sensitive": kind.sensitive,
        "allowed": kind.key in allowed,
        "paused": actor is not None,
        "paused_by": actor,
        "breaker": Breaker.OPEN.value if broken_since else breaker,
        "breaker_changed_at": broken_since or (row.breaker_changed_at if row else None),
    }


def _error_out(error: dict[str, Any]) -> TaskErrorOut:
    return {
        "attempt": error["attempt"],
        "at": datetime.fromisoformat(error["at"]),
        "kind": error["class"],
        "message": error["message"],
    }
