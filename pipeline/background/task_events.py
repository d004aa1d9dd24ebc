"""Reads of a task's events, for programs and for people."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Value, Window
from django.db.models.functions import Lead

from pipeline.selectors.page import Page
from tasks.models import EventKind, TaskEvent


def task_events_of(task_id: UUID, *, after: int | None = None, limit: int) -> Page[TaskEvent]:
    """Return a task's events, oldest first. `after` continues after an event's id."""
    found = TaskEvent.objects.filter(task_id=task_id).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def last_task_event_id(task_id: UUID) -> int:
    """Return the id of a task's last event; it changes with every event."""
    last = TaskEvent.objects.filter(task_id=task_id).order_by("-id").values_list("id")[:1]
    return next((row[0] for row in last), 0)


def task_events_for_people(
    task_id: UUID, *, after: int | None = None, limit: int
) -> Page[TaskEvent]:
    """Return a task's events for people, oldest first.

    Of consecutive progress events, only the last is returned, since long tasks report progress
    twice a second. `after` continues after an event's id. Reads all events of the task.
    """
    following = Window(Lead("kind", default=Value("")), order_by="id")
    happened = TaskEvent.objects.filter(task_id=task_id).annotate(next_kind=following)
    progress = EventKind.PROGRESS
    found = happened.exclude(kind=progress, next_kind=progress).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)
