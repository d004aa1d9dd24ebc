"""Making what goes out about background work; what a payload's schema calls secret is hidden."""

from __future__ import annotations

from collections.abc import Container, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from pipeline.api.v1.serializers.background_inputs import OF_A_REQUEST
from pipeline.api.v1.serializers.background_shapes import (
    FullTaskErrorOut,
    FullTaskOut,
    NewTaskOut,
    TaskActorOut,
    TaskErrorOut,
    TaskEventOut,
    TaskOut,
    TaskProgressOut,
    TaskScheduleOut,
    TaskTypeOut,
)
from pipeline.background.catalog import KnownType
from pipeline.background.tasks import actor_parts, actors_named
from tasks import registry
from tasks.errors import BadSchedule, UnknownType
from tasks.models import Schedule, Task, TaskEvent
from tasks.models.statuses import Breaker
from tasks.payloads import redacted
from tasks.scheduling.schedules import Times

NEXT_TIMES = 5


def task_out(task: Task) -> TaskOut:
    """A task that was read with its type."""
    key = task.idempotency_key
    return {
        "id": task.id,
        "type": task.type.key,
        "version": task.type.version,
        "status": task.status,
        "priority": task.priority,
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "run_after": task.run_after,
        "progress": _progress_out(task.progress),
        "result": task.result,
        "last_error": _error_out(task.errors[-1]) if task.errors else None,
        "idempotency_key": None if key and key.startswith(OF_A_REQUEST) else key,
        "producer": task.producer,
        "request_id": task.request_id,
        "created_at": task.created_at,
        "started_at": task.started_at,
        "finished_at": task.finished_at,
    }


def full_task_out(task: Task) -> FullTaskOut:
    """A task with its payload and all its errors."""
    return {
        **task_out(task),
        "payload": redacted(task.type.schema, task.payload),
        "errors": [_full_error_out(each) for each in task.errors],
    }


def new_task_out(task: Task, *, is_new: bool) -> NewTaskOut:
    """A task that was just asked for."""
    return {**task_out(task), "is_new": is_new}


def events_out(events: Iterable[TaskEvent]) -> list[TaskEventOut]:
    """What happened to tasks, with who did it in words."""
    events = list(events)
    words = actors_named(event.actor for event in events)
    return [
        {
            "id": event.id,
            "task_id": event.task_id,
            "kind": event.kind,
            "at": event.at,
            "attempt": event.attempt,
            "actor": actor_out(event.actor, words),
            "data": event.data,
        }
        for event in events
    ]


def actor_out(actor: str, words: dict[str, str]) -> TaskActorOut:
    """Who did something, with their words."""
    kind, thing = actor_parts(actor)
    return {"kind": kind, "id": thing, "name": words[actor]}


def type_out(
    known: KnownType, *, paused_by: str | None, words: dict[str, str], allowed: Container[str]
) -> TaskTypeOut:
    """A type; `paused_by`: who paused it for the company. The site may have paused it for all."""
    kind, row = known.kind, known.row
    by_the_site = row is not None and row.paused
    actor = actor_out(paused_by, words) if paused_by is not None else None
    if by_the_site and actor is None:
        actor = {"kind": "system", "id": None, "name": "the site"}
    return {
        "key": kind.key,
        "version": kind.version,
        "title": known.about.title,
        "description": known.about.about,
        "payload_schema": kind.schema,
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
        "breaker": row.breaker if row else Breaker.CLOSED.value,
        "breaker_changed_at": row.breaker_changed_at if row else None,
    }


def schedule_out(schedule: Schedule, now: datetime) -> TaskScheduleOut:
    """A schedule, and when it runs the next five times after `now`."""
    return {
        "id": schedule.id,
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "type": schedule.type_key,
        "version": schedule.type_version,
        "payload": redacted(_schema_of(schedule), schedule.payload),
        "priority": schedule.priority,
        "enabled": schedule.enabled,
        "catch_up": schedule.catch_up,
        "last_enqueued_for": schedule.last_enqueued_for,
        "next_times": _next_times(schedule, now) if schedule.enabled else [],
        "problem": schedule.problem or None,
        "created_at": schedule.created_at,
    }


def _next_times(schedule: Schedule, now: datetime) -> list[datetime]:
    found = [now]
    with suppress(BadSchedule):  # no more times, or a zone that is no more
        times = Times(schedule.cron, schedule.zone)
        for _ in range(NEXT_TIMES):
            found.append(times.after(found[-1]))
    return found[1:]


def _schema_of(schedule: Schedule) -> dict[str, Any]:
    """The schema of its payload; of a type that this release does not know, all is secret."""
    try:
        return registry.find(schedule.type_key, schedule.type_version).schema
    except UnknownType:
        return {"secret": True}


def _progress_out(progress: Any) -> TaskProgressOut | None:
    if not isinstance(progress, dict):
        return None
    return {"done": progress["done"], "total": progress["total"], "note": progress["note"]}


def _error_out(error: dict[str, Any]) -> TaskErrorOut:
    return {
        "attempt": error["attempt"],
        "at": datetime.fromisoformat(error["at"]),
        "kind": error["class"],
        "message": error["message"],
    }


def _full_error_out(error: dict[str, Any]) -> FullTaskErrorOut:
    return {**_error_out(error), "traceback": error["traceback"]}
