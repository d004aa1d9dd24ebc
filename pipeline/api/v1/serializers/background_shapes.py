"""The types of what goes out about background work."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from pipeline.api.v1.serializers.shapes import Count
from tasks.models import EventKind
from tasks.models.statuses import HIGHEST_PRIORITY, LOWEST_PRIORITY, Breaker, Status

Priority = Annotated[int, ("minimum", LOWEST_PRIORITY), ("maximum", HIGHEST_PRIORITY)]
TaskStatus = Annotated[str, ("enum", tuple(Status.values))]
ACTORS = ("key", "member", "schedule", "worker", "system")


class TaskProgressOut(TypedDict):
    """How far a task is, as its handler told last."""

    done: int
    total: int
    note: str


class TaskErrorOut(TypedDict):
    """Why an attempt failed."""

    attempt: Count
    at: datetime
    kind: str
    message: str


class FullTaskErrorOut(TaskErrorOut):
    """Why an attempt failed, and where in the code."""

    traceback: str


class TaskOut(TypedDict):
    """A piece of background work, and where it stands."""

    id: UUID
    type: str
    version: Count
    status: TaskStatus
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
    """A piece of background work with what it was given and why its attempts failed."""

    payload: Any
    errors: list[FullTaskErrorOut]


class NewTaskOut(TaskOut):
    """A task that was asked for: made now, or the first one with that key."""

    is_new: bool


class NewTasksOut(TypedDict):
    """The tasks of a batch, in the order in which they were asked for."""

    data: list[NewTaskOut]


class TaskActorOut(TypedDict):
    """Who did it, in words too; workers and the system have no id."""

    kind: Annotated[str, ("enum", ACTORS)]
    id: UUID | None
    name: str


class TaskEventOut(TypedDict):
    """Something that happened to a task."""

    id: Count
    task_id: UUID
    kind: Annotated[str, ("enum", tuple(EventKind.values))]
    at: datetime
    attempt: Count
    actor: TaskActorOut
    data: Any


class ReplayedOut(TypedDict):
    """How many dead letters run again."""

    replayed: Count


class RateOut(TypedDict):
    """So many in so many seconds."""

    limit: Count
    seconds: float


class TaskTypeOut(TypedDict):
    """A type of background work that a company may start, and the limits within which it runs."""

    key: str
    version: Count
    title: str
    description: str
    payload_schema: dict[str, Any]
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
    breaker: Annotated[str, ("enum", tuple(Breaker.values))]
    breaker_changed_at: datetime | None


class TaskTypesOut(TypedDict):
    """All types that a company may start."""

    data: list[TaskTypeOut]
    next_cursor: str | None


class TaskScheduleOut(TypedDict):
    """Work that is started again and again. `problem` says why it was switched off, if it was."""

    id: UUID
    name: str
    cron: str
    zone: str
    type: str
    version: Count | None
    payload: Any
    priority: Priority
    enabled: bool
    catch_up: bool
    last_enqueued_for: datetime | None
    next_times: list[datetime]
    problem: str | None
    created_at: datetime


class TaskDepthOut(TypedDict):
    """How many tasks of a type and a priority wait."""

    type: str
    priority: Priority
    count: Count


class TaskAgeOut(TypedDict):
    """How long the oldest due task of a priority has waited."""

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
